//! What sets hosts up and takes it back: `apply`, `undo`, `discover`, `up`, `install`, the daemons that stay.

#[path = "../support/mod.rs"]
mod support;

mod apply;
mod apply_refusals;
mod apply_ssh;
mod apply_undo;
mod discover;
mod firewall;
mod install;
mod others;
mod returns;
mod run_setup;
mod ssh_ways;
mod striping;
mod subnets;
mod switches;
mod tune;
mod tune_cluster;
mod up;
mod watch;
mod wheel;
