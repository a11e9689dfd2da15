#!/bin/sh
# Builds the images of both programs with docker, podman or buildah, whichever is there.
#
#   build.sh [--check] [--programs FOLDER] [--save FOLDER]
#
# --programs: where the static programs for Linux lie; without it the Containerfile compiles them, in a container.
# --save: writes NAME.tar for each (what `docker save` writes) instead of keeping them in the builder's storage.
# --check: builds nothing, says whether it could.
# Environment: ENGINE (docker, podman or buildah), REGISTRY (put before the names, e.g. registry.example.com/team),
# VERSION (the tag beside latest; that of Cargo.toml by default).
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
check=no programs='' save=''
while [ $# -gt 0 ]; do
  case "$1" in
    --check) check=yes; shift ;;
    --programs) programs=$(cd "$2" && pwd); shift 2 ;;
    --save) mkdir -p "$2"; save=$(cd "$2" && pwd); shift 2 ;;
    *) echo "build.sh: unknown option $1 (known: --check, --programs, --save)" >&2; exit 2 ;;
  esac
done

# Docker's client is often there without an engine.
works() {
  case "$1" in
    docker) docker version >/dev/null 2>&1 ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

engine=${ENGINE:-}
if [ -z "$engine" ]; then
  for candidate in docker podman buildah; do
    if works "$candidate"; then engine=$candidate; break; fi
  done
elif ! works "$engine"; then
  echo "build.sh: ENGINE=$engine does not work here" >&2
  exit 3
fi
if [ -z "$engine" ]; then
  echo "build.sh: images are built with docker (and its engine), podman or buildah, and none is here; e.g. 'apt-get install buildah'" >&2
  exit 3
fi
[ "$check" = no ] || exit 0

version=${VERSION:-$(sed -n 's/^version = "\(.*\)"/\1/p' "$here/Cargo.toml" | head -n 1)}
revision=$(git -C "$here" rev-parse HEAD 2>/dev/null || echo unknown)
prefix=${REGISTRY:+${REGISTRY%/}/}

# Where the programs are there, the rest of the Containerfile takes them from the folder it is given.
containerfile=$here/Containerfile context=$here temporary=''
if [ -n "$programs" ]; then
  context=$programs temporary=$(mktemp -d)
  containerfile=$temporary/Containerfile
  sed -e '/ AS build$/,/^$/d' -e 's|COPY --from=build --chmod=0755 /programs/|COPY --chmod=0755 |' "$here/Containerfile" >"$containerfile"
fi

# What is only saved leaves nothing in the storage of podman and buildah.
storage=''
[ -z "$save" ] || [ "$engine" = docker ] || storage=$(mktemp -d)
trap 'rm -rf "$storage" "$temporary"' EXIT
trap 'exit 130' INT TERM
# Nothing runs in these containers unless they compile, so no runtime is asked for.
engine() {
  if [ -n "$storage" ]; then
    "$engine" --root "$storage/root" --runroot "$storage/run" --storage-driver vfs "$@"
  else
    "$engine" "$@"
  fi
}

for target in creator watcher; do
  name=ipf-dynamic-nodeport-service-$target
  # The name that a manifest without a registry means.
  full=$prefix$name
  [ -z "$save" ] || [ -n "$prefix" ] || full=docker.io/library/$name
  set -- --file "$containerfile" --target "$target" --tag "$full:latest" \
    --build-arg "VERSION=$version" --build-arg "REVISION=$revision"
  [ -n "$save" ] || set -- "$@" --tag "$full:$version"
  # With docker, what has the name already gets it back afterwards.
  before=''
  [ -z "$save" ] || [ "$engine" != docker ] || before=$(docker image inspect --format '{{.Id}}' "$full:latest" 2>/dev/null || :)
  engine build --quiet "$@" "$context" >/dev/null
  if [ -z "$save" ]; then
    echo "$full:latest, $full:$version"
    continue
  fi
  rm -f "$save/$name.tar"
  case "$engine" in
    docker)
      docker save --output "$save/$name.tar" "$full:latest"
      if [ -n "$before" ]; then docker tag "$before" "$full:latest"; else docker image rm "$full:latest" >/dev/null; fi
      ;;
    podman) engine save --quiet --output "$save/$name.tar" "$full:latest" ;;
    buildah) engine push --quiet "$full:latest" "docker-archive:$save/$name.tar:$full:latest" ;;
  esac
  echo "$save/$name.tar"
done
