#!/bin/sh
# Makes the root of an image that can be a member of an Akka and of a Pekko cluster, and prints its path:
# /java (a runtime with no more modules than needed, and the C library that it needs), /akka and /pekko (the classes).
# Kept in ${XDG_CACHE_HOME:-~/.cache}/ipf-dynamic-nodeport-service, in a folder for each state of this one.
# Needs a JDK (11 or later) and Maven. Exit code 3: one is missing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
for tool in javac jlink mvn; do
  command -v "$tool" >/dev/null || {
    echo "assemble.sh: $tool is missing: install a JDK (11 or later) and Maven" >&2
    exit 3
  }
done
[ "${1:-}" != --check ] || exit 0

cache=${XDG_CACHE_HOME:-${HOME:?neither XDG_CACHE_HOME nor HOME is set}/.cache}/ipf-dynamic-nodeport-service
state=$({ cat "$here/pom.xml" "$here/assemble.sh" "$here"/src/nodeport/*; javac -version 2>&1; } | sha256sum | cut -c 1-16)
root=$cache/akka-$state
if [ -d "$root" ]; then
  echo "$root"
  exit 0
fi
mkdir -p "$cache"
work=$(mktemp -d "$cache/akka.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

mkdir -p "$work/root/etc" "$work/root/tmp" "$work/sources/akka" "$work/sources/pekko"
chmod 755 "$work/root"
cp -R "$here/src/nodeport" "$work/sources/akka/"
cp -R "$here/src/nodeport" "$work/sources/pekko/"
sed -i -e 's/import akka\./import org.apache.pekko./' -e 's/"akka\./"pekko./' "$work"/sources/pekko/nodeport/*.java
for flavor in akka pekko; do
  echo "assemble.sh: $flavor" >&2
  mvn -B -q -f "$here/pom.xml" "-P$flavor" "-Dsources=$work/sources/$flavor" "-Doutput=$work/$flavor" process-classes >&2
  mkdir "$work/root/$flavor"
  cp "$work/$flavor"/dependency/*.jar "$work/root/$flavor/"
  cp -R "$work/$flavor/classes" "$work/root/$flavor/classes"
done

# jlink of a Debian package follows the links to /etc that its JDK has.
modules=java.base,java.logging,java.management,java.naming,java.sql,java.xml,jdk.jfr,jdk.management,jdk.unsupported
jlink --add-modules "$modules" --strip-debug --no-header-files --no-man-pages --output "$work/root/java"
"$work/root/java/bin/java" -Xshare:dump >/dev/null
# What its programs and libraries are linked with, at the paths where the loader looks.
find "$work/root/java" -type f \( -name '*.so' -o -path '*/bin/java' \) -exec ldd {} + 2>/dev/null |
  awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// && $2 ~ /^\(/ { print $1 }' | grep -v "^$work" | sort -u |
  while read -r library; do
    mkdir -p "$work/root${library%/*}"
    cp -L "$library" "$work/root$library"
  done
echo 'hosts: files dns' >"$work/root/etc/nsswitch.conf"
mv -T "$work/root" "$root" 2>/dev/null || [ -d "$root" ]
echo "$root"
