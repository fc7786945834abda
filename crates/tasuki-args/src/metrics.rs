//! `tasuki metrics`.

use clap::Args;
use std::{net::SocketAddr, path::PathBuf};

/// Options of `tasuki metrics`.
#[derive(Debug, Args)]
#[command(
    after_help = "  tasuki metrics                      # prints, of the only lab that is up or this machine
  tasuki metrics --cluster cluster.toml --listen 127.0.0.1:9465
  tasuki metrics --rules > /etc/prometheus/tasuki.rules.yml
  tasuki metrics --dashboard > tasuki.json        # for Grafana: Dashboards, New, Import
  tasuki metrics --output /var/lib/prometheus/node-exporter/tasuki.prom

With --listen it answers http://ADDRESS/metrics until Ctrl-C, and asks all hosts for every answer; one \
command serves a whole cluster. On this machine it is asked by an address, as localhost or by a name of the \
machine: a web page could have any other name lead here, so --name allows it first. Everybody who reaches \
the address may read names of hosts, NICs, programs and jobs, and nothing else. With --output it writes one \
file, which appears whole, for the textfile collector of node_exporter on sites that open no further port; a \
timer repeats it.

A host that does not answer has tasuki_host_answers 0 and no other value. Switches that have `management` in \
the cluster file are asked by SNMP at the same time; one that does not answer has tasuki_switch_answers 0."
)]
pub struct MetricsArgs {
    /// Hosts of this lab; none: the only one that is up, or this machine
    #[arg(long, conflicts_with = "cluster")]
    pub lab: Option<String>,
    /// The machines of this cluster file, over ssh
    #[arg(long)]
    pub cluster: Option<PathBuf>,
    /// Write this file instead of printing. One that is there is replaced if it has such metrics, and else
    /// left
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// Answer http://ADDRESS/metrics, as 127.0.0.1:9465
    #[arg(long, conflicts_with = "output")]
    pub listen: Option<SocketAddr>,
    /// With --listen: a further name by which this machine asks it; it may be given several times
    #[arg(
        long,
        value_name = "NAME",
        requires = "listen",
        conflicts_with_all = ["output", "rules", "dashboard"]
    )]
    pub name: Vec<String>,
    /// Print alert rules for Prometheus, and end
    #[arg(long, conflicts_with_all = ["lab", "cluster", "output", "listen"])]
    pub rules: bool,
    /// Print a dashboard for Grafana, and end
    #[arg(long, conflicts_with_all = ["lab", "cluster", "output", "listen", "rules"])]
    pub dashboard: bool,
}
