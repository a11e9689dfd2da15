//! Pods on additional networks, and Services that lead to them there: with Multus, kube-proxy and a DNS, on two nodes.

#![cfg(test)]

mod networks;
mod services;
mod support;
