#!/bin/sh
# Finds or builds the programs of a Kubernetes cluster, and prints the path of each on standard output.
#
#   build.sh [--check] [--plain] PROGRAM...     see known() for the programs
#
# Looked for in $KUBEBUILDER_ASSETS, then in the cache (${XDG_CACHE_HOME:-~/.cache}/ipf-dynamic-nodeport-service,
# a folder for each version and platform); what neither has is built with Go from the modules pinned in the folders here.
# KUBERNETES_VERSION=1.34.4 asks for another Kubernetes than the pinned one. Progress goes to standard error:
# in place on a terminal, else (and with --plain, for side-by-side builds) a line every 15 seconds.
# --check builds nothing and says whether it could. Exit code 3: Go is needed and missing.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
check=no plain=no
while :; do
  case "${1:-}" in
    --check) check=yes ;;
    --plain) plain=yes ;;
    *) break ;;
  esac
  shift
done

# pinned FOLDER MODULE: the go.mod files are the only places that name versions.
pinned() {
  awk -v module="$2" '{ sub(/^require /, "") } $1 == module && $2 ~ /^v/ { print substr($2, 2); exit }' "$here/$1/go.mod"
}
pinned_kubernetes=$(pinned kubernetes k8s.io/kubernetes)
version=${KUBERNETES_VERSION:-$pinned_kubernetes}
version=${version#v}

case "$(uname -m)" in
  x86_64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) arch=$(uname -m) ;;
esac
platform=$(uname -s | tr '[:upper:]' '[:lower:]')-$arch
cache=${XDG_CACHE_HOME:-${HOME:?neither XDG_CACHE_HOME nor HOME is set, so there is no folder to keep the programs in}/.cache}/ipf-dynamic-nodeport-service

say() { printf '%s\n' "$*" >&2; }

known='etcd kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl
containerd containerd-shim-runc-v2 ctr bridge loopback host-local multus coredns helm'

# describe PROGRAM: sets what it is built from: folder (of its go.mod here), package, tags; and where it is kept: name-version.
# All but Kubernetes' own programs keep their version, whatever Kubernetes they work with.
describe() {
  tags='' stamp=''
  case "$1" in
    etcd)
      folder=kubernetes package=go.etcd.io/etcd/server/v3
      kept=etcd-$(pinned kubernetes $package)
      ;;
    containerd | containerd-shim-runc-v2 | ctr)
      folder=containerd package=github.com/containerd/containerd/v2/cmd/$1
      tags='no_btrfs no_zfs no_devmapper'
      kept=containerd-$(pinned containerd github.com/containerd/containerd/v2)
      stamp="-X github.com/containerd/containerd/v2/version.Version=v${kept#*-}"
      ;;
    bridge | loopback | host-local)
      folder=cni package=github.com/containernetworking/plugins
      kept=cni-$(pinned cni $package)
      case "$1" in host-local) package=$package/plugins/ipam/$1 ;; *) package=$package/plugins/main/$1 ;; esac
      ;;
    multus)
      folder=multus package=gopkg.in/k8snetworkplumbingwg/multus-cni.v4/cmd/multus
      kept=multus-$(pinned multus ${package%/cmd/multus})
      ;;
    coredns)
      # Which plugins it has is part of what it is.
      folder=coredns package=cluster-tests.local/coredns
      kept=coredns-$(pinned coredns github.com/coredns/coredns)-$(cksum <"$here/coredns/main.go" | cut -d ' ' -f 1)
      ;;
    helm)
      folder=helm package=helm.sh/helm/v4/cmd/helm
      kept=helm-$(pinned helm helm.sh/helm/v4)
      stamp="-X helm.sh/helm/v4/internal/version.version=v${kept#*-}"
      ;;
    *)
      folder=kubernetes package=k8s.io/kubernetes/cmd/$1 kept=kubernetes-$version
      minor=${version#*.} base=k8s.io/component-base/version
      stamp="-X $base.gitVersion=v$version -X $base.gitMajor=${version%%.*} -X $base.gitMinor=${minor%%.*}"
      ;;
  esac
  cached=$cache/$kept/$platform/$1
}

find_program() {
  if [ -n "${KUBEBUILDER_ASSETS:-}" ] && [ -x "$KUBEBUILDER_ASSETS/$1" ]; then
    printf '%s/%s\n' "$KUBEBUILDER_ASSETS" "$1"
  else
    describe "$1"
    [ -x "$cached" ] && printf '%s\n' "$cached"
  fi
}

# Runs a command, shows "LABEL: N s" while it does, and the end of its output if it fails.
with_progress() {
  label=$1
  shift
  log=$cache/build-$$.log
  "$@" >"$log" 2>&1 &
  command=$!
  # An interrupted build must not go on in the background.
  trap 'kill "$command" 2>/dev/null; rm -f "$log"; exit 130' INT TERM
  started=$(date +%s) shown=0
  [ "$terminal" = yes ] || say "$label ..."
  while kill -0 "$command" 2>/dev/null; do
    sleep 1
    elapsed=$(($(date +%s) - started))
    if [ "$terminal" = yes ]; then
      printf '\r\033[K%s: %s s' "$label" "$elapsed" >&2
    elif [ $((elapsed - shown)) -ge 15 ]; then
      shown=$elapsed
      say "$label: $elapsed s"
    fi
  done
  status=0
  wait "$command" || status=$?
  trap - INT TERM
  elapsed=$(($(date +%s) - started))
  [ "$terminal" = no ] || printf '\r\033[K' >&2
  if [ "$status" != 0 ]; then
    say "$label: failed after $elapsed s:"
    tail -n 15 "$log" >&2
  else
    say "$label: done in $elapsed s"
  fi
  rm -f "$log"
  return "$status"
}

# The modules of another Kubernetes version: the same programs and staging modules, pinned anew.
pin_other_version() {
  modules=$cache/kubernetes-$version/modules
  pinned=$modules/pinned-$(cksum <"$here/build.sh" | cut -d ' ' -f 1)
  [ ! -e "$pinned" ] || return 0
  rm -rf "$modules"
  mkdir -p "$modules"
  cd "$modules"
  go mod init cluster-tests.local/kubernetes
  minor=${version#*.}
  for module in $(awk '$1 == "replace" { print $2 }' "$here/kubernetes/go.mod"); do
    go mod edit -replace "$module=$module@v0.$minor"
  done
  for program in kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl; do
    go get -tool "k8s.io/kubernetes/cmd/$program@v$version"
  done
  : >"$pinned"
}

build() {
  describe "$1"
  mkdir -p "${cached%/*}"
  modules=$here/$folder
  if [ "$kept" = "kubernetes-$version" ] && [ "$version" != "$pinned_kubernetes" ]; then
    modules=$cache/kubernetes-$version/modules
  fi
  # Renamed when complete: who finds the file finds all of it.
  with_progress "$2" compile "$modules" "$cached.$$"
  mv "$cached.$$" "$cached"
}

compile() {
  cd "$1"
  CGO_ENABLED=0 exec go build -trimpath -tags "$tags" -ldflags "-s -w $stamp" -o "$2" "$package"
}

missing=''
for program in "$@"; do
  case " $(echo $known) " in
    *" $program "*) ;;
    *) say "build.sh: unknown program $program (known: $(echo $known))"; exit 2 ;;
  esac
  find_program "$program" >/dev/null || missing="$missing $program"
done

if [ -n "$missing" ]; then
  # 1.21 is the first Go that fetches by itself the newer one that go.mod asks for.
  go_version=$(go env GOVERSION 2>/dev/null || true)
  case "$go_version" in
    '' | go1.[0-9] | go1.[0-9].* | go1.1[0-9]* | go1.20*)
      say "Go 1.21 or later is needed to build$missing; here is ${go_version:-no 'go' on the PATH}."
      say "Install it from https://go.dev/dl/, or name a folder that holds these programs in KUBEBUILDER_ASSETS."
      exit 3
      ;;
  esac
fi
[ "$check" = no ] || exit 0

if [ -n "$missing" ]; then
  terminal=no
  [ "$plain" = yes ] || [ ! -t 2 ] || terminal=yes
  mkdir -p "$cache"
  # One builder at a time; the second one finds what the first has built. Without flock both build, and either result is good.
  exec 9>"$cache/lock"
  if command -v flock >/dev/null && ! flock -n 9; then
    say "Waiting for another build of the Kubernetes programs to finish ..."
    flock 9
  fi
  count=0
  for program in $missing; do count=$((count + 1)); done
  say "Building$missing once, into $cache (minutes the first time, nothing afterwards)."
  if [ "$version" != "$pinned_kubernetes" ] && [ "$missing" != " etcd" ]; then
    with_progress "Pinning the modules of Kubernetes $version" pin_other_version
  fi
  n=0
  for program in $missing; do
    n=$((n + 1))
    if ! find_program "$program" >/dev/null; then
      build "$program" "Building $program ($n of $count)"
    fi
  done
fi

for program in "$@"; do find_program "$program"; done
