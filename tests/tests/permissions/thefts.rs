//! All that stolen tokens are tried for. Each differs in one thing from a request that is permitted.

use serde_json::{Value, json};

use crate::{
    scene::Scene,
    theft::{Deed, Theft, Thief, merged},
};

/// All of them.
pub(crate) fn thefts(scene: &Scene) -> Vec<Theft> {
    [creations(scene), pods(scene), deletions(), watchers()].into_iter().flatten().collect()
}

const UNBOUND: &str = "the token is bound to no pod";
const NAMESPACE: &str = "the Service must be in the pod's namespace";
const NAME: &str = "the Service must have the pod's name, unshortened";
const OWNER: &str = "the Service must be owned by the pod alone";
const POD_ANNOTATIONS: &str = "the Service's annotations must name the pod";
const TYPE: &str = "the Service must be of type NodePort";
const FIELDS: &str = "the Service must have no external IPs, no external name, and nothing about load balancers";
const SELECTOR: &str = "the Service must select the pod, by ipfPodName or statefulset.kubernetes.io/pod-name";

fn creations(scene: &Scene) -> Vec<Theft> {
    let own = scene.own_service("app-0");
    let uid = scene.uid("app-0");
    let owner = |name: &str, uid: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid});
    let victim = scene.uid("app-1");
    let of_victim = owner("app-1", victim);
    let ports: Vec<_> = (1..=17).map(|port| json!({"name": format!("p{port}"), "port": port})).collect();
    let metadata = |change: Value| json!({"metadata": change});
    let annotation = |key: &str, value: Value| json!({"metadata": {"annotations": {key: value}}});
    let owners = |owners: Value| json!({"metadata": {"ownerReferences": owners}});
    let spec = |change: Value| json!({"spec": change});

    let creations = [
        ("a name of its own choice", NAME, metadata(json!({"name": "payments"}))),
        ("the name of a pod to come", NAME, metadata(json!({"name": "app-9"}))),
        ("a generated name", NAME, metadata(json!({"name": null, "generateName": "app-0-"}))),
        (
            "a finalizer",
            "the Service must have no finalizers",
            metadata(json!({"finalizers": ["example.com/for-ever"]})),
        ),
        ("no owner", OWNER, owners(json!(null))),
        ("another pod as its owner", OWNER, owners(json!([of_victim]))),
        ("a second owner", OWNER, owners(json!([owner("app-0", uid), of_victim]))),
        ("an owner with another pod's UID", OWNER, owners(json!([owner("app-0", victim)]))),
        ("an owner with another pod's name", OWNER, owners(json!([owner("app-1", uid)]))),
        ("an owner of another kind", OWNER, owners(json!([merged(owner("app-0", uid), &json!({"kind": "Service"}))]))),
        (
            "an owner of another version",
            OWNER,
            owners(json!([merged(owner("app-0", uid), &json!({"apiVersion": "v2"}))])),
        ),
        (
            "without the label that the watcher goes by",
            "the Service must have the label creator=ipf-dynamic-nodeport-service-creator",
            metadata(json!({"labels": {"creator": "somebody"}})),
        ),
        ("as another pod's", POD_ANNOTATIONS, annotation("ipf-dynamic-nodeport-service/pod-name", json!("app-1"))),
        ("as another UID's", POD_ANNOTATIONS, annotation("ipf-dynamic-nodeport-service/pod-uid", json!(victim))),
        ("as nobody's", POD_ANNOTATIONS, metadata(json!({"annotations": null}))),
        (
            "an order to another controller",
            "the Service must have no annotations but those that the policy permits",
            annotation("external-dns.alpha.kubernetes.io/hostname", json!("bank.example.com")),
        ),
        ("a load balancer", TYPE, spec(json!({"type": "LoadBalancer"}))),
        ("no NodePort", TYPE, spec(json!({"type": "ClusterIP"}))),
        ("external IPs", FIELDS, spec(json!({"externalIPs": ["192.0.2.80"]}))),
        ("an external name", FIELDS, spec(json!({"externalName": "bank.example.com"}))),
        ("a load balancer's address", FIELDS, spec(json!({"loadBalancerIP": "192.0.2.80"}))),
        ("another pod's selector", SELECTOR, spec(json!({"selector": {"ipfPodName": "app-1"}}))),
        ("a selector of other pods", SELECTOR, spec(json!({"selector": {"ipfPodName": null, "product": "ipfv2"}}))),
        (
            "another pod's selector in a StatefulSet",
            SELECTOR,
            spec(json!({"selector": {"ipfPodName": null, "statefulset.kubernetes.io/pod-name": "app-1"}})),
        ),
        ("no selector", SELECTOR, spec(json!({"selector": null}))),
        ("all node ports", "the Service must have at most 16 ports", spec(json!({"ports": ports}))),
    ];
    let theft = |what, refusal, thief, deed| Theft { what, policy: "services", refusal, thief, deed };
    let mut thefts: Vec<_> = creations
        .into_iter()
        .map(|(what, refusal, change)| {
            theft(what, refusal, Thief::Pod("app-0"), Deed::CreateService(merged(own.clone(), &change)))
        })
        .collect();
    thefts.extend([
        theft("by an unbound token", UNBOUND, Thief::Unbound, Deed::CreateService(own.clone())),
        theft("by a token from a Secret", UNBOUND, Thief::Secret, Deed::CreateService(own)),
        theft(
            "in a neighbour's namespace",
            NAMESPACE,
            Thief::Neighbour("app-0"),
            Deed::CreateService(scene.neighbours_service("app-0")),
        ),
        theft(
            "a change of its own Service",
            "a Service must not be changed",
            Thief::Pod("app-5"),
            Deed::ChangeService("app-5", json!({"metadata": {"labels": {"changed": "yes"}}})),
        ),
    ]);
    thefts
}

const OTHER_POD: &str = "only the pod that the token is bound to may be labelled";
const LABEL: &str = "only the label ipfPodName may change";
const METADATA: &str = "nothing of the pod's metadata but a label may change";
const SPEC: &str = "nothing of the pod's spec may change";

fn pods(scene: &Scene) -> Vec<Theft> {
    let theft = |what, refusal, thief, pod, change| Theft {
        what,
        policy: "pods",
        refusal,
        thief,
        deed: Deed::ChangePod(pod, change),
    };
    let label = |value: &str| json!({"metadata": {"labels": {"ipfPodName": value}}});
    // Beside the label, as a creator sets it.
    let own = |what, refusal, mut change: Value| {
        change["metadata"]["labels"]["ipfPodName"] = "app-0".into();
        theft(what, refusal, Thief::Pod("app-0"), "app-0", change)
    };
    let labels = |labels: Value| json!({"metadata": {"labels": labels}});
    let metadata = |change: Value| json!({"metadata": change});
    let spec = |change: Value| json!({"spec": change});
    let mut tolerations = scene.tolerations("app-0");
    tolerations.push(json!({"operator": "Exists"}));
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "app-1", "uid": scene.uid("app-1")});
    vec![
        theft("another pod's label", OTHER_POD, Thief::Pod("app-0"), "app-1", label("app-1")),
        theft(
            "the label of a neighbour's pod of the same name",
            OTHER_POD,
            Thief::Neighbour("app-0"),
            "app-0",
            label("app-0"),
        ),
        theft("a label by an unbound token", OTHER_POD, Thief::Unbound, "app-0", label("app-0")),
        theft("a label by a token from a Secret", OTHER_POD, Thief::Secret, "app-0", label("app-0")),
        theft(
            "the label of another pod",
            "the label ipfPodName must be the pod's name",
            Thief::Pod("app-0"),
            "app-0",
            label("app-1"),
        ),
        own("another label", LABEL, labels(json!({"app": "payments"}))),
        own("another value of a label", LABEL, labels(json!({"product": "other"}))),
        own("a label taken away", LABEL, labels(json!({"product": null}))),
        own("an annotation", METADATA, metadata(json!({"annotations": {"added": "yes"}}))),
        own("another value of an annotation", METADATA, metadata(json!({"annotations": {"note": "changed"}}))),
        own("an annotation taken away", METADATA, metadata(json!({"annotations": null}))),
        own("a finalizer", METADATA, metadata(json!({"finalizers": ["example.com/for-ever"]}))),
        own("an owner", METADATA, metadata(json!({"ownerReferences": [owner]}))),
        own("a prefix of names", METADATA, metadata(json!({"generateName": "app-"}))),
        own("another image", SPEC, spec(json!({"containers": [{"name": "application", "image": "changed"}]}))),
        own(
            "another image of the init container",
            SPEC,
            spec(json!({"initContainers": [{"name": "service-creator", "image": "changed"}]})),
        ),
        own("an end", SPEC, spec(json!({"activeDeadlineSeconds": 1}))),
        own("tolerations", SPEC, spec(json!({"tolerations": tolerations}))),
    ]
}

fn deletions() -> Vec<Theft> {
    let theft = |what, refusal, thief, service| Theft {
        what,
        policy: "deletions",
        refusal,
        thief,
        deed: Deed::DeleteService(service),
    };
    vec![
        theft("another pod's Service", "the Service must have the pod's name", Thief::Pod("app-0"), "app-1"),
        theft("somebody's Service", "the Service must be one that a creator made", Thief::Pod("app-2"), "app-2"),
        theft(
            "a Service of its name for another pod",
            "the Service must be one that was made for a pod of this name",
            Thief::Pod("app-3"),
            "app-3",
        ),
        theft("a Service in a neighbour's namespace", NAMESPACE, Thief::Neighbour("app-4"), "app-4"),
        theft("a Service by an unbound token", UNBOUND, Thief::Unbound, "app-1"),
        theft("a Service by a token from a Secret", UNBOUND, Thief::Secret, "app-1"),
    ]
}

fn watchers() -> Vec<Theft> {
    vec![Theft {
        what: "somebody's Service",
        policy: "watcher",
        refusal: "the Service must be one that a creator made, or a NetService's",
        thief: Thief::Watcher,
        deed: Deed::DeleteService("app-2"),
    }]
}
