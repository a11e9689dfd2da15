//! Many pods at once.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use cluster_tests::harness::{ControlPlane, Outcome, Run, Running, eventually};
use common::labels::{CREATOR, CREATOR_LABEL, POD_UID_ANNOTATION};
use k8s_openapi::api::core::v1::{Pod as PodObject, Service};
use kube::{
    Api,
    api::{DeleteParams, ListParams},
};

use crate::check::{annotation, ports, written};

const PODS: usize = 200;

/// How many creators run at a time: more would only wait for the processors of the machine.
const AT_A_TIME: usize = 12;

/// How long the garbage collector may take for all of them, on a busy machine.
const COLLECTED: Duration = Duration::from_secs(60);

#[tokio::test]
async fn two_hundred_pods_get_a_service_each_and_none_stays_when_they_are_gone() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let mut pods = Vec::new();
    for number in 0..PODS {
        pods.push(namespace.pod(&format!("app-{number}")).create().await);
    }
    let mut running: VecDeque<Running> = VecDeque::new();
    let mut outcomes: Vec<Outcome> = Vec::new();
    for pod in &pods {
        if running.len() == AT_A_TIME
            && let Some(oldest) = running.pop_front()
        {
            outcomes.push(oldest.wait().await);
        }
        running.push_back(Run::creator(pod).await.spawn());
    }
    for last in running {
        outcomes.push(last.wait().await);
    }

    let ours = ListParams::default().labels(&format!("{CREATOR_LABEL}={CREATOR}"));
    let api: Api<Service> = namespace.api();
    let services = api.list(&ours).await.unwrap().items;
    assert_eq!(services.len(), PODS);
    let by_pod: BTreeMap<_, _> =
        services.iter().map(|service| (annotation(service, POD_UID_ANNOTATION).unwrap(), service)).collect();
    let mut taken = BTreeSet::new();
    for (pod, outcome) in pods.iter().zip(&outcomes) {
        assert_eq!(outcome.code(), Some(0), "{}: {}", pod.name(), outcome.stderr);
        let (artery, management) = written(outcome);
        assert_eq!(ports(by_pod[pod.uid()]), (artery, management), "{}", pod.name());
        assert!(taken.insert(artery) && taken.insert(management), "{}: another pod's port", pod.name());
    }

    let objects: Api<PodObject> = namespace.api();
    objects.delete_collection(&DeleteParams::default().grace_period(0), &ListParams::default()).await.unwrap();
    eventually(COLLECTED, "all Services are collected", async || match api.list_metadata(&ours).await {
        Ok(left) if left.items.is_empty() => Ok(()),
        Ok(left) => Err(format!("{} are left", left.items.len())),
        Err(error) => Err(error.to_string()),
    })
    .await;
}
