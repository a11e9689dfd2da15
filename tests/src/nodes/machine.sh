# The first process of a machine of the tests' own: network, mounts and processes of its own, so that all of it is gone when
# this process is, and nothing that nodes do to a machine is done to the real one.
#
#   machine.sh KEEPER GROUP CONTROL_PLANE CLIENT "NETWORK=NODE=ADDRESS ..." NODE=ADDRESS=PODS...
#
# Its own network is where the control plane and a bridge are; each node and a client are networks linked to that bridge.
# Each further NETWORK is a bridge on each node with the node's ADDRESS on it, and all of them are one segment.
# GROUP names the control groups of this machine, which no namespace hides: they are removed at the end.
set -eu
keeper=$1 group=$2 control_plane=$3 client=$4 further=$5
shift 5

# What is written to /run and /var is this machine's own.
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/netns /run/lock /run/var/upper /run/var/work
mount -t overlay -o lowerdir=/var,upperdir=/run/var/upper,workdir=/run/var/work overlay /var

# The kubelet sets these for the whole machine. It leaves alone what already has the value it wants, as it does here.
mkdir /run/settings
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  name=${setting%=*}
  [ -e "/proc/sys/$name" ] || continue
  file=/run/settings/$(echo "$name" | tr / .)
  echo "${setting#*=}" >"$file"
  mount --bind "$file" "/proc/sys/$name"
done

ip link set lo up
ip link add name lan type bridge
ip address add "$control_plane/24" dev lan
ip link set lan up
echo 1 >/proc/sys/net/ipv4/ip_forward

# link NETWORK ADDRESS: a network of that name, linked to the bridge.
link() {
  ip netns add "$1"
  ip link add "to-$1" type veth peer name eth0 netns "$1"
  ip link set "to-$1" master lan up
  ip -n "$1" link set lo up
  ip -n "$1" address add "$2/24" dev eth0
  ip -n "$1" link set eth0 up
  ip -n "$1" route add default via "$control_plane"
  # A packet may come from another side than where its answer goes: from a pod of the other node to one of a further network.
  nsenter "--net=/run/netns/$1" sh -c '
    cd /proc/sys/net/ipv4
    echo 1 >ip_forward
    echo 0 | tee conf/all/rp_filter conf/default/rp_filter conf/eth0/rp_filter >/dev/null'
}
link client "$client"
for node in "$@"; do
  name=${node%%=*} rest=${node#*=}
  link "$name" "${rest%=*}"
done
for place in $further; do
  network=${place%%=*} rest=${place#*=}
  node=${rest%%=*} address=${rest#*=}
  ip link show "$network" >/dev/null 2>&1 || ip link add name "$network" type bridge
  ip link set "$network" up
  ip link add "$network-$node" type veth peer name "$network-out" netns "$node"
  ip link set "$network-$node" master "$network" up
  # Of its own a bridge has the address of one of its links, and another one as pods come and go.
  hardware=$(printf '02:00:%02x:%02x:%02x:%02x' $(echo "$address" | tr . ' '))
  ip -n "$node" link add name "$network" address "$hardware" type bridge
  ip -n "$node" link set "$network-out" master "$network" up
  ip -n "$node" address add "$address/24" dev "$network"
  ip -n "$node" link set "$network" up
done
# Pods are reached through their node, from wherever they are sought: nobody translates addresses but kube-proxy.
for node in "$@"; do
  name=${node%%=*} rest=${node#*=}
  address=${rest%=*} pods=${rest#*=}
  ip route add "$pods" via "$address"
  for other in "$@"; do
    [ "${other%%=*}" = "$name" ] || ip -n "${other%%=*}" route add "$pods" via "$address"
  done
done

# Control groups: a hierarchy for each controller (version 1), or one for all.
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  hierarchies=/sys/fs/cgroup
else
  hierarchies=$(find /sys/fs/cgroup -mindepth 1 -maxdepth 1 -type d)
fi
# controllers FOLDER: its subgroups get all controllers that it has.
controllers() {
  [ ! -e "$1/cgroup.controllers" ] || for controller in $(cat "$1/cgroup.controllers"); do
    echo "+$controller" >"$1/cgroup.subtree_control" 2>/dev/null || :
  done
}
permitted=$(cat /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || :)
for hierarchy in $hierarchies; do
  controllers "$hierarchy"
  mkdir "$hierarchy/$group"
  controllers "$hierarchy/$group"
  for name in "" "$@"; do
    below=$hierarchy/$group${name:+/${name%%=*}}
    mkdir -p "$below"
    for file in cpuset.cpus cpuset.mems; do
      [ -e "$hierarchy/cgroup.controllers" ] || [ ! -e "$below/$file" ] || cat "${below%/*}/$file" >"$below/$file"
    done
  done
done

status=0
"$keeper" || status=$?

# Containers outlive those who started them. This process is the only one left, and what it does not wait for is reaped.
kill -KILL -1 2>/dev/null || :
for attempt in 1 2 3 4 5 6 7 8 9 10; do
  for hierarchy in $hierarchies; do
    [ ! -d "$hierarchy/$group" ] || find "$hierarchy/$group" -depth -type d -exec rmdir {} + 2>/dev/null || :
  done
  rest=$(find $hierarchies -maxdepth 1 -name "$group")
  [ -n "$rest" ] || break
  sleep 0.1
done
# What version 2 did not hand to groups before, it need not after.
for controller in $(cat /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || :); do
  case " $permitted " in
    *" $controller "*) ;;
    *) echo "-$controller" >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || : ;;
  esac
done
exit "$status"
