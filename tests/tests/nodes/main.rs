//! The programs where they are used: in pods that real kubelets run, on two nodes with real node ports.

#![cfg(test)]

mod akka;
mod disruptions;
mod documented;
mod every_node;
mod examples;
mod images;
mod observer;
mod support;
