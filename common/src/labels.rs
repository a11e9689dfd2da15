//! Labels, annotations and names that the programs read or write, in one place.

/// Name of the field manager of everything that the creator writes, and of its ConfigMap.
pub const CREATOR: &str = "ipf-dynamic-nodeport-service-creator";

/// Name of the watcher, and of its settings folder.
pub const WATCHER: &str = "ipf-dynamic-nodeport-service-watcher";

/// Label on every Service of ours; its value is [`CREATOR`]. The original tool's Services carry it too.
pub const CREATOR_LABEL: &str = "creator";

/// Label on the pods that the watcher observes; its value is [`PRODUCT`].
pub const PRODUCT_LABEL: &str = "product";

/// Value of [`PRODUCT_LABEL`].
pub const PRODUCT: &str = "ipfv2";

/// Label that ties one Service to one pod: the documented template selects on it.
pub const POD_NAME_LABEL: &str = "ipfPodName";

/// Label that the StatefulSet controller puts on each of its pods; its value is the pod's name.
pub const STATEFULSET_POD_NAME_LABEL: &str = "statefulset.kubernetes.io/pod-name";

/// Annotation on a Service of ours: the name of the pod it serves, which its own name need not be.
pub const POD_NAME_ANNOTATION: &str = "ipf-dynamic-nodeport-service/pod-name";

/// Annotation on a Service of ours: the UID of the pod it serves.
pub const POD_UID_ANNOTATION: &str = "ipf-dynamic-nodeport-service/pod-uid";

/// Annotation on a Service of ours: the address that was written to the application's file.
pub const ADVERTISED_HOST_ANNOTATION: &str = "ipf-dynamic-nodeport-service/advertised-host";
