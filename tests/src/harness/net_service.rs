//! NetServices on a control plane: their definitions, as users apply them.

use std::time::Duration;

use http::Request;
use kube::{
    Api,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
    core::GroupVersionKind,
};
use net_service::resource::{Group, KIND, PLURAL};

use super::{ControlPlane, eventually, manifests};

/// How long a definition may take to be served, on a busy machine.
const SERVED: Duration = Duration::from_secs(60);

/// The file of a group's definition, from the checkout's root.
#[must_use]
pub fn definition(group: Group) -> String {
    format!("crds/{PLURAL}.{group}.yaml")
}

/// What a client must know to ask for the NetServices of a group.
#[must_use]
pub fn resource(group: Group) -> ApiResource {
    ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk(group.as_str(), net_service::resource::VERSION, KIND),
        PLURAL,
    )
}

impl ControlPlane {
    /// Has it serve the NetServices of these groups, and waits until it does. It may do so already.
    ///
    /// # Panics
    /// When it refuses a definition.
    pub async fn serve_net_services(&self, groups: &[Group]) {
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let definitions: Api<DynamicObject> = Api::all_with(self.admin(), &ApiResource::from_gvk(&kind));
        for group in groups {
            let document = manifests::read(definition(*group)).remove(0);
            let name = format!("{PLURAL}.{group}");
            let parameters = PatchParams::apply("cluster-tests").force().validation_strict();
            let applied = definitions.patch(&name, &parameters, &Patch::Apply(document)).await;
            applied.unwrap_or_else(|error| panic!("cannot define {name}: {error}"));
            self.net_services_served(*group).await;
        }
    }

    /// Waits until it serves the NetServices of a group, whoever defines them.
    pub async fn net_services_served(&self, group: Group) {
        let admin = self.admin();
        let path = format!("/apis/{}/{PLURAL}", group.api_version());
        eventually(SERVED, &format!("{path} is served"), async || {
            let request = Request::get(&path).body(Vec::new()).expect("a path is a request");
            admin.request_text(request).await
        })
        .await;
    }
}
