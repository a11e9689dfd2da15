//! What the watcher asks of the API, by the apiserver's own count.

use std::time::Duration;

use cluster_tests::harness::{ControlPlane, Namespace, Phase, Run, eventually};
use k8s_openapi::api::core::v1::Service;

use crate::support::{deletion, ends_having_deleted, pod_with_service, settled, watching};

/// The watcher's requests so far, as `verb resource`; a watch is one of them, however long it lasts.
async fn requests(namespace: &Namespace<'_>) -> Vec<String> {
    let requests = namespace.requests().await;
    requests.iter().map(|event| format!("{} {}", event.verb, event.resource)).collect()
}

#[tokio::test]
async fn a_pods_end_costs_three_and_a_pods_life_none() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (first_pod, _) = pod_with_service(&namespace, "app-0").await;
    let running = watching(Run::watcher(&namespace).await.listening()).await;
    // After the first deletion no more Events are tried.
    settled(&namespace, &running).await;
    let at_first = requests(&namespace).await;
    assert!(!at_first.is_empty());

    // The life of a pod: it is created, gets its Service, runs, and is asked to end.
    let mut pods = vec![first_pod];
    let mut services = Vec::new();
    for name in ["app-1", "app-2", "app-3"] {
        let (mut pod, service) = pod_with_service(&namespace, name).await;
        pod.phase(Phase::Running).await;
        pods.push(pod);
        services.push(service);
    }
    pods[1].ask_to_end().await;
    eventually(Duration::from_secs(30), "the watcher has heard of the Services", async || {
        let page = running.get("/metrics").await.body;
        if page.contains("\nipf_dynamic_nodeport_watcher_services 4\n") { Ok(()) } else { Err(page) }
    })
    .await;
    let in_life = requests(&namespace).await.split_off(at_first.len());
    assert!(in_life.iter().all(|request| request == "get services" || request == "get pods"), "{in_life:?}");
    assert_eq!(in_life, Vec::<String>::new());

    for (pod, service) in pods.into_iter().skip(1).zip(&services) {
        let before = requests(&namespace).await.len();
        pod.delete().await;
        deletion(&running, service).await;
        let mut cost = requests(&namespace).await.split_off(before);
        cost.sort();
        assert_eq!(cost, ["delete services", "get pods", "get services"]);
    }
    let deleted: Vec<_> = services.iter().collect();
    ends_having_deleted(running, &deleted).await;
}

#[tokio::test]
async fn a_start_costs_two_watches_and_a_scan() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (_pod, service) = pod_with_service(&namespace, "app-0").await;
    let running = watching(Run::watcher(&namespace).await).await;
    service.assert_untouched().await;
    let mut asked = requests(&namespace).await;
    asked.sort();
    let counts = |what: &str| asked.iter().filter(|request| *request == what).count();
    assert_eq!((counts("watch pods"), counts("watch services")), (1, 1), "{asked:?}");
    // The scan lists Services, the pods that are watched and the others; the watches list too, unless they stream that.
    assert!(asked.len() <= 7, "{asked:?}");
    assert!(asked.iter().all(|request| request.starts_with("watch ") || request.starts_with("list ")), "{asked:?}");
    ends_having_deleted(running, &[]).await;
}

#[tokio::test]
async fn what_the_creator_made_is_removed_with_and_without_owner_reference() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let running = watching(Run::watcher(&namespace).await).await;
    for (name, owner) in [("app-0", "pod"), ("app-1", "none")] {
        let pod = namespace.pod(name).create().await;
        Run::creator(&pod).await.args(["--owner-reference", owner]).run().await.expect_code(0);
        settled(&namespace, &running).await;
        let made: Service = namespace.api().get(name).await.unwrap();
        let uid = pod.uid().to_owned();
        pod.delete().await;
        eventually(Duration::from_secs(30), "the Service is gone", async || {
            match namespace.api::<Service>().get_opt(name).await {
                Ok(None) => Ok(()),
                seen => Err(format!("{seen:?}")),
            }
        })
        .await;
        if owner == "none" {
            let line = running.logged("Service deleted", |line| line["service"] == name).await;
            assert_eq!(line["uid"], made.metadata.uid.unwrap());
            assert_eq!((&line["pod_uid"], &line["reason"]), (&uid.into(), &"PodGone".into()));
        }
    }
    running.terminate().await.expect_code(0);
}
