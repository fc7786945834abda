//! Clusters in namespaces, what is said of them, and what is only computed.

#[path = "../support/mod.rs"]
mod support;

mod advice;
mod check;
mod check_programs;
mod cores;
mod dashboard;
mod dashboard_page;
mod debug;
mod dissector;
mod hang;
mod host_views;
mod hostile;
mod hostile_files;
mod impostors;
mod lab_clients;
mod lab_descriptors;
mod lab_hosts;
mod lab_life;
mod lab_rates;
mod lab_terminal;
mod lab_wires;
mod messages;
mod metrics;
mod nccl;
mod output;
mod paper;
mod paths;
mod prometheus;
mod ranks;
mod simulate;
mod stacks;
mod terminal;
mod test_builds;
mod top;
mod topo_files;
mod topologies;
mod torch;
