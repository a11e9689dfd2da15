//! Behaviour 1: the original's samples, unmodified.

use cluster_tests::{
    harness::eventually,
    net_service::{self as scene, NetPod, NetService, PATIENCE, PROMPT, ready},
};
use kube::api::PostParams;
use net_service::resource::Group;
use serde_json::json;

/// The original's samples: name, network and the value of label `app`.
const SAMPLES: [(&str, &str, &str); 4] = [
    ("corens", "core", "utils"),
    ("accessns", "access", "utils"),
    ("emptyns", "empty", "utils"),
    ("web", "blah", "nginx"),
];

#[tokio::test]
async fn behaviour_1_the_originals_samples_work_unmodified() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let samples = SAMPLES.map(|(name, network, app)| {
        (NetService::of(&namespace, Group::Original, name), json!({"netAttachDef": network, "selector": {"app": app}}))
    });
    for (sample, spec) in &samples {
        sample.try_make(spec.clone()).await.unwrap();
    }
    let mut pods = Vec::new();
    for number in 1..=3 {
        let (core, access) = (format!("10.50.0.{number}"), format!("10.51.0.{number}"));
        let pod = NetPod::new(&format!("multi-{number}")).on("core", &[&core]).on("access", &[&access]);
        pods.push(pod.create(&namespace).await);
    }
    let [core, access, empty, web] = samples.map(|(sample, _)| sample);
    let on = |network: &str| [1, 2, 3].map(|number| ready(&format!("{network}.{number}"), format!("multi-{number}")));
    for (sample, expected) in
        [(&core, on("10.50.0").to_vec()), (&access, on("10.51.0").to_vec()), (&empty, vec![]), (&web, vec![])]
    {
        let expected: Vec<_> = expected.iter().map(String::as_str).collect();
        sample.endpoints_within(PROMPT, &expected).await;
    }
    for sample in [&core, &access, &web] {
        sample.told("Reconciled").await;
        let service = sample.service_that("is headless", |service| service.spec.is_some()).await;
        let spec = service.spec.unwrap();
        assert_eq!((spec.cluster_ip.as_deref(), spec.selector), (Some("None"), None));
    }
    let told = empty.told("NetworkNotFound").await;
    assert!(told.contains("no selected pod is attached to network empty"), "{told}");
    eventually(PATIENCE, "three are told", async || {
        let status = core.status().await;
        if status["endpoints"] == 3 { Ok(()) } else { Err(status) }
    })
    .await;
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_1_no_address_of_the_pod_network_leaks_in() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let sip =
        NetService::create(&namespace, "sip", json!({"netAttachDef": "core", "selector": {"app": "utils"}})).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
    let _not_attached = NetPod::new("b").create(&namespace).await;
    sip.endpoints(&[&ready("10.50.0.4", "a")]).await;
    // Kubernetes' own controllers make slices and Endpoints of Services with a selector only.
    let api: kube::Api<k8s_openapi::api::discovery::v1::EndpointSlice> = namespace.api();
    let all = api.list(&kube::api::ListParams::default()).await.unwrap().items;
    assert_eq!(scene::lines(&all), [ready("10.50.0.4", "a")]);
    let endpoints: kube::Api<k8s_openapi::api::core::v1::Endpoints> = namespace.api();
    assert_eq!(endpoints.list(&kube::api::ListParams::default()).await.unwrap().items, []);
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_1_without_a_network_it_is_the_pod_network() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let ports = json!([{"port": 80, "targetPort": 8080}]);
    let spec = json!({"selector": {"app": "utils"}, "type": "ClusterIP", "ports": ports});
    let web = NetService::create(&namespace, "web", spec).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).pod_ips(&["10.244.1.7"]).create(&namespace).await;
    web.endpoints(&[&ready("10.244.1.7", "a")]).await;
    running.terminate().await.expect_code(0);
}

/// What is there before the controller is served all the same.
#[tokio::test]
async fn behaviour_1_what_was_there_before_the_controller_is_served_too() {
    let Some(namespace) = scene::namespace().await else { return };
    let sip =
        NetService::create(&namespace, "sip", json!({"netAttachDef": "core", "selector": {"app": "utils"}})).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
    let running = scene::start(&namespace).await;
    sip.endpoints(&[&ready("10.50.0.4", "a")]).await;
    let again = sip.api().create(&PostParams::default(), &sip.get().await).await;
    assert!(again.is_err(), "one of a name");
    running.terminate().await.expect_code(0);
}
