//! Writes Kubernetes Events about Services that were deleted, where that is permitted.
