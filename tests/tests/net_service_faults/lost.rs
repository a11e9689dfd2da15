//! Answers that are lost: what was asked is done, and the controller does not know.

use cluster_tests::proxy::{Action, Recorded, times};
use serde_json::json;

use crate::{
    DEADLINE, RECOVERED,
    log::few_complaints,
    scene::{Scene, namespace, watching},
    wire::{Ask, through},
};

/// What is asked for, and what makes a controller ask for it.
const ASKS: [Ask; 8] = [
    Ask::CreateLease,
    Ask::CreateService,
    Ask::CreateSlice,
    Ask::TellStatus,
    Ask::PatchSlice,
    Ask::PatchService,
    Ask::DeleteSlice,
    Ask::DeleteService,
];

#[tokio::test]
async fn whatever_answer_is_lost_nothing_is_made_twice_and_all_is_right() {
    let Some(namespace) = namespace().await else { return };
    let control_plane = namespace.control_plane();
    let mut scene = Scene::set(&namespace, 4).await;
    let proxy = control_plane.proxy();
    // One of each, as it comes: those that a start makes first.
    let lose = |ask: Ask| {
        let before = ask.count(&proxy);
        proxy.set_rule(times(move |seen| ask.is(seen), 1, || Action::CutAfter));
        before
    };
    let mut before = lose(ASKS[0]);
    let watcher = through(&proxy, &namespace).await.spawn();
    for (number, ask) in ASKS.into_iter().enumerate() {
        match ask {
            // The start asks for it.
            Ask::CreateLease => {}
            Ask::CreateService | Ask::CreateSlice => {
                let service = &scene.net_services[0];
                service.delete().await;
                scene.net_services[0] = again(&namespace, "headless").await;
            }
            Ask::TellStatus => scene.add(1).await,
            Ask::PatchService => scene.net_services[1].edit(json!({"publishNotReadyAddresses": true})).await,
            Ask::DeleteSlice => scene.net_services[1].edit(json!({"ports": [{"name": "sip", "port": 5061}]})).await,
            Ask::DeleteService => scene.net_services[1].edit(json!({"type": "Headless"})).await,
            _ => scene.shift().await,
        }
        let is_it = |asked: &&Recorded| ask.is(&asked.seen);
        proxy.wait_until(DEADLINE, |requests| requests.iter().filter(is_it).count() > before).unwrap();
        let took = scene.right(RECOVERED).await;
        println!("{ask:?} without an answer: right after {took:?}");
        if let Some(next) = ASKS.get(number + 1) {
            before = lose(*next);
        }
    }
    watching(&watcher).await;
    few_complaints(&watcher, 20);
    let requests = namespace.requests().await;
    let made = |resource: &str| {
        let made = requests.iter().filter(|event| (event.verb.as_str(), event.code) == ("create", 201));
        made.filter(|event| event.resource == resource).count()
    };
    assert_eq!(made("leases"), 1);
    // Three at first, the first of them twice anew, and one for another type.
    assert_eq!(made("services"), 3 + 2 + 1);
    watcher.terminate().await.expect_code(0);
}

async fn again<'a>(
    namespace: &'a cluster_tests::harness::Namespace<'a>,
    name: &str,
) -> cluster_tests::net_service::NetService<'a> {
    let spec = json!({"netAttachDef": "core", "selector": {"app": "utils"}, "ports": [{"name": "sip", "port": 5060}]});
    cluster_tests::net_service::NetService::create(namespace, name, spec).await
}
