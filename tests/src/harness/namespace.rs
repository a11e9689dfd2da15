//! A namespace as a user sets it up: the documented permissions and the documented ConfigMap; and as another service account
//! in it sees it.

use std::time::Duration;

use k8s_openapi::api::{
    authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec},
    authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
    core::v1::{Namespace as Object, ServiceAccount},
    rbac::v1::{PolicyRule, Role},
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use super::{ControlPlane, Event, NewPod, NewService, Pod, access::Credentials, eventually, manifests};

/// The documented service account, and the Role that it has.
pub const SERVICE_ACCOUNT: &str = "ipf-dynamic-nodeport-service";

/// How long permissions may take to have effect, on a busy machine.
const PERMITTED: Duration = Duration::from_secs(30);

/// A namespace of one test, and the service account that its pods have and its runs act as.
pub struct Namespace<'a> {
    control_plane: &'a ControlPlane,
    name: String,
    account: String,
    admin: Client,
}

impl<'a> Namespace<'a> {
    /// Creates it, applies the documented manifests, and waits until the permissions have effect.
    pub(super) async fn create(control_plane: &'a ControlPlane, name: String) -> Self {
        let admin = control_plane.admin();
        let object: Object = serde_json::from_value(json!({"metadata": {"name": name}})).expect("a Namespace");
        let created = Api::all(admin.clone()).create(&PostParams::default(), &object).await;
        created.unwrap_or_else(|error| panic!("cannot create namespace {name}: {error}"));
        Self::documented(control_plane, name).await
    }

    /// A namespace that exists already, such as `default`, with the documented manifests applied to it.
    pub async fn documented(control_plane: &'a ControlPlane, name: String) -> Self {
        let account = SERVICE_ACCOUNT.to_owned();
        let namespace = Self { control_plane, name, account, admin: control_plane.admin() };
        namespace.apply("permissions/role.yaml").await;
        namespace.apply("examples/documented/configmap.yaml").await;
        // The last verb of the last rule and the first of the first: the authorizer learns a Role as a whole, but
        // the Role and its binding apart.
        namespace.wait_until_allowed("create", "services").await;
        namespace.wait_until_allowed("get", "configmaps").await;
        namespace
    }

    /// The same namespace with another service account: for pods, tokens, runs and permissions. Both are there; neither has
    /// the other's permissions.
    #[must_use]
    pub fn with_account(&self, account: &str) -> Self {
        let (name, account) = (self.name.clone(), account.to_owned());
        Self { control_plane: self.control_plane, name, account, admin: self.admin.clone() }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is.
    #[must_use]
    pub fn control_plane(&self) -> &'a ControlPlane {
        self.control_plane
    }

    /// A client that may do anything.
    #[must_use]
    pub fn admin(&self) -> Client {
        self.admin.clone()
    }

    /// The objects of one kind in this namespace, as admin.
    #[must_use]
    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.admin.clone(), &self.name)
    }

    /// The service account's name.
    #[must_use]
    pub fn account(&self) -> &str {
        &self.account
    }

    /// The service account's user name, as the audit log has it.
    #[must_use]
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.name, self.account)
    }

    /// Creates the objects of a manifest of this repository here.
    pub async fn apply(&self, file: &str) {
        manifests::create(&self.admin, &self.name, manifests::read(file)).await;
    }

    /// Applies a manifest of permissions here, and waits until the service account has them.
    ///
    /// # Panics
    /// When the API refuses, or they do not take effect.
    pub async fn grant(&self, file: &str) {
        self.apply(file).await;
        for rule in manifests::rules(file) {
            let names = rule.resource_names.unwrap_or_default();
            let names: Vec<_> = if names.is_empty() { vec![None] } else { names.into_iter().map(Some).collect() };
            let groups = rule.api_groups.unwrap_or_default();
            let asked =
                groups.iter().flat_map(|group| rule.resources.iter().flatten().map(move |found| (group, found)));
            for (group, resource) in asked {
                let (resource, subresource) = match resource.split_once('/') {
                    Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
                    None => (resource.as_str(), None),
                };
                for (verb, name) in rule.verbs.iter().flat_map(|verb| names.iter().map(move |name| (verb, name))) {
                    let (group, subresource, name) = (Some(group.clone()), subresource.clone(), name.clone());
                    let asked = ResourceAttributes { group, subresource, name, ..self.asks(verb, resource) };
                    self.wait_until(&self.user(), asked).await;
                }
            }
        }
    }

    /// From now on only pods of the Pod Security level "restricted" are admitted here.
    ///
    /// # Panics
    /// When the API refuses.
    pub async fn restrict(&self) {
        let label = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
        let namespaces: Api<Object> = Api::all(self.admin());
        let patched = namespaces.patch(&self.name, &PatchParams::default(), &Patch::Merge(label)).await;
        patched.unwrap_or_else(|error| panic!("cannot restrict namespace {}: {error}", self.name));
    }

    /// A pod to be created here.
    pub fn pod(&self, name: &str) -> NewPod<'_> {
        NewPod::new(self, name)
    }

    /// Creates a pod of a workload's pod template here, as its controller would; unless the template says otherwise, on [`super::control_plane::NODE`].
    ///
    /// # Panics
    /// When the API refuses it.
    pub async fn pod_of(&self, name: &str, template: &Value) -> Pod<'_> {
        Pod::of_template(self, name, template).await
    }

    /// A Service to be created here that is somebody else's: it has this name, and nothing of ours.
    pub fn foreign_service(&self, name: &str) -> NewService<'_> {
        NewService::foreign(self, name)
    }

    /// A Service to be created here as the original tool would for a pod of this name.
    pub fn original_tools_service(&self, pod: &str) -> NewService<'_> {
        NewService::of_original_tool(self, pod)
    }

    /// A token of the service account that is bound to no pod.
    pub async fn unbound_token(&self) -> String {
        self.token(None).await
    }

    /// A client as the service account.
    pub async fn client(&self) -> Client {
        self.control_plane.client(&Credentials::Token(self.unbound_token().await))
    }

    /// Whether the service account may do this here, by the apiserver's own judgement.
    ///
    /// # Panics
    /// When the API does not answer.
    pub async fn allows(&self, verb: &str, resource: &str) -> bool {
        self.is_allowed(&self.user(), self.asks(verb, resource)).await
    }

    /// What is asked, of a resource of the core group here.
    fn asks(&self, verb: &str, resource: &str) -> ResourceAttributes {
        ResourceAttributes {
            namespace: Some(self.name.clone()),
            verb: Some(verb.to_owned()),
            resource: Some(resource.to_owned()),
            ..ResourceAttributes::default()
        }
    }

    async fn is_allowed(&self, user: &str, asked: ResourceAttributes) -> bool {
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(user.to_owned()),
                resource_attributes: Some(asked),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let answer = Api::all(self.admin.clone()).create(&PostParams::default(), &review).await;
        let answer = answer.unwrap_or_else(|error| panic!("cannot ask what {user} may do: {error}"));
        answer.status.is_some_and(|status| status.allowed)
    }

    /// Waits until [`Self::allows`]: permissions take a moment to have effect.
    pub async fn wait_until_allowed(&self, verb: &str, resource: &str) {
        self.wait_until_user_allowed(&self.user(), verb, resource).await;
    }

    /// The same for an account of another namespace.
    pub async fn wait_until_user_allowed(&self, user: &str, verb: &str, resource: &str) {
        self.wait_until(user, self.asks(verb, resource)).await;
    }

    async fn wait_until(&self, user: &str, asked: ResourceAttributes) {
        eventually(PERMITTED, &format!("{user} may {asked:?}"), async || {
            if self.is_allowed(user, asked.clone()).await { Ok(()) } else { Err("it is denied") }
        })
        .await;
    }

    /// Takes a verb on a resource out of the service account's Role, but for rules that name single objects, and waits until
    /// that has effect.
    ///
    /// # Panics
    /// When the API refuses.
    pub async fn deny(&self, verb: &str, resource: &str) {
        let names = |rule: &PolicyRule| rule.resources.iter().flatten().any(|named| named == resource);
        self.change_rules(|rules| {
            for rule in rules.iter_mut().filter(|rule| rule.resource_names.is_none() && names(rule)) {
                rule.verbs.retain(|named| named != verb);
            }
            rules.retain(|rule| !rule.verbs.is_empty());
        })
        .await;
        eventually(PERMITTED, &format!("{} may not {verb} {resource}", self.user()), async || {
            if self.allows(verb, resource).await { Err("it is allowed") } else { Ok(()) }
        })
        .await;
    }

    /// Adds a verb on a resource of the core group to the service account's Role, and waits until that has effect.
    ///
    /// # Panics
    /// When the API refuses.
    pub async fn permit(&self, verb: &str, resource: &str) {
        self.add_rule(PolicyRule {
            api_groups: Some(vec![String::new()]),
            resources: Some(vec![resource.to_owned()]),
            verbs: vec![verb.to_owned()],
            ..PolicyRule::default()
        })
        .await;
        self.wait_until_allowed(verb, resource).await;
    }

    /// Adds a rule to the service account's Role, which has its name. It has effect in a moment.
    ///
    /// # Panics
    /// When the API refuses.
    pub async fn add_rule(&self, rule: PolicyRule) {
        self.change_rules(|rules| rules.push(rule)).await;
    }

    async fn change_rules(&self, change: impl FnOnce(&mut Vec<PolicyRule>)) {
        let roles: Api<Role> = self.api();
        let refused = |error| panic!("cannot change Role {}/{}: {error}", self.name, self.account);
        let mut role = roles.get(&self.account).await.unwrap_or_else(refused);
        change(role.rules.get_or_insert_default());
        roles.replace(&self.account, &PostParams::default(), &role).await.unwrap_or_else(refused);
    }

    /// What the service account has asked so far, in the order of arrival.
    pub async fn requests(&self) -> Vec<Event> {
        let user = self.user();
        self.control_plane.audit(|event| event.user == user).await
    }

    pub(super) async fn token(&self, bound: Option<BoundObjectReference>) -> String {
        let request = TokenRequest {
            spec: Some(TokenRequestSpec { bound_object_ref: bound, ..TokenRequestSpec::default() }),
            ..TokenRequest::default()
        };
        let accounts: Api<ServiceAccount> = self.api();
        let answer = accounts.create_token_request(&self.account, &PostParams::default(), &request).await;
        let answer = answer.unwrap_or_else(|error| panic!("no token for {}: {error}", self.user()));
        answer.status.and_then(|status| status.token).expect("the answer to a TokenRequest holds a token")
    }
}
