//! Two watchers at once: an operator runs two replicas, or a rollout starts the next before the last has ended.

use std::time::Duration;

use cluster_tests::harness::{ControlPlane, Run};

use crate::{
    fleet::Fleet,
    log::{field, watching},
};

const PODS: usize = 100;

#[tokio::test]
async fn two_watchers_delete_each_service_once() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let staying = Fleet::launch(&namespace, "stays", 5).await;
    let fleet = Fleet::launch(&namespace, "app", PODS).await;
    let twins = [Run::watcher(&namespace).await.spawn(), Run::watcher(&namespace).await.spawn()];
    for twin in &twins {
        watching(twin).await;
    }

    fleet.delete_pods().await;
    let took = fleet.collected(Duration::from_secs(10)).await;
    println!("two watchers, {PODS} pods: gone after {took:?}");

    let in_vain = fleet.deletions_in_vain().await;
    println!("{} of their deletions came too late", in_vain.len());
    assert!(in_vain.iter().all(|code| [404, 409].contains(code)), "{in_vain:?}");
    staying.assert_untouched().await;
    let mut logged = Vec::new();
    for twin in twins {
        let outcome = twin.terminate().await.expect_code(0);
        logged.extend(outcome.log_of("Service deleted").iter().map(|line| field(line, "uid").to_owned()));
        let others: Vec<_> = outcome.log().into_iter().filter(|line| field(line, "level") != "INFO").collect();
        assert!(others.is_empty(), "the other one's work is no reason to complain: {others:#?}");
    }
    logged.sort_unstable();
    logged.dedup();
    assert_eq!(logged.len(), PODS, "each deletion is told by the one that did it");
}
