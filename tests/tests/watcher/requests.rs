//! What the watcher asks of the API, by the apiserver's own count.

use std::time::Duration;

use cluster_tests::harness::{ControlPlane, Namespace, Phase, Run, eventually};

use crate::support::{deletion, ends_having_deleted, noticed, pod_with_service, watching};

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
    noticed(&namespace, &running).await;
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
