//! Labels and names that the controller writes, in one place.

/// Field manager of everything that it writes, and the name of its Lease.
pub const MANAGER: &str = "ipf-dynamic-nodeport-service-net-service";

/// Label of the Services; its value is [`MANAGED_BY`].
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";

/// Value of [`MANAGED_BY_LABEL`].
pub const MANAGED_BY: &str = "net-service-controller";

/// Label of an EndpointSlice that says whose it is, so that Kubernetes' own controllers leave it alone; its value is
/// [`SLICES_MANAGED_BY`].
pub const SLICES_MANAGED_BY_LABEL: &str = "endpointslice.kubernetes.io/managed-by";

/// Value of [`SLICES_MANAGED_BY_LABEL`].
pub const SLICES_MANAGED_BY: &str = "net-service-controller.netservice.io";

/// Label of an EndpointSlice: the name of its Service.
pub const SERVICE_NAME_LABEL: &str = "kubernetes.io/service-name";

/// Label of the EndpointSlices of a headless Service.
pub const HEADLESS_LABEL: &str = "service.kubernetes.io/headless";
