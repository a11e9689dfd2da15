//! Pods on additional networks and NetServices that lead to them there: with Multus, kube-proxy and a DNS, on two nodes, and with
//! the controller in pods on them, under the shipped permissions. Behaviours have the numbers of their specification.

#![cfg(test)]

mod changes;
mod cluster_ip;
mod every_node;
mod follower;
mod moved;
mod names;
mod networks;
mod node_ports;
mod support;
