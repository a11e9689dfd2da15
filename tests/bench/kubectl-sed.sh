#!/bin/sh
# What one would write without the creator, and what `make bench` compares it with.
# Inputs: NAMESPACE, POD, OUTPUT, KUBECONFIG (read by kubectl itself), KUBECTL (the program, default kubectl).
set -eu

kube() {
    "${KUBECTL:-kubectl}" --namespace "$NAMESPACE" "$@"
}

kube get configmap ipf-dynamic-nodeport-service-creator --output 'jsonpath={.data.default\.yaml}' |
    sed "s/{{ *\. *PodName *}}/$POD/g" |
    kube create --filename - >/dev/null
kube label pod "$POD" "ipfPodName=$POD" >/dev/null

ports=$(kube get service "$POD" \
    --output 'jsonpath={.spec.ports[?(@.name=="akka-artery")].nodePort} {.spec.ports[?(@.name=="akka-management")].nodePort}')
node=$(kube get pod "$POD" --output 'jsonpath={.spec.nodeName}')

cat >"$OUTPUT" <<EOF
IPF_NODEPORT = ${ports% *}
IPF_MANAGEMENTPORT = ${ports#* }
IPF_NODENAME = $node
akka.remote.artery.canonical.port = \${IPF_NODEPORT}
akka.remote.artery.canonical.hostname = \${IPF_NODENAME}
akka.management.http.hostname = \${IPF_NODENAME}
akka.management.http.port = \${IPF_MANAGEMENTPORT}
EOF
