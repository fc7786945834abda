//! `tasuki dashboard`.

use clap::Args;
use std::{net::SocketAddr, path::PathBuf};

/// Options of `tasuki dashboard`.
#[derive(Debug, Args)]
#[command(after_help = "  tasuki dashboard                    # the only lab that is up, or this machine
  tasuki dashboard --cluster cluster.toml
  ssh -L 9466:127.0.0.1:9466 n1       # from another machine: then open the printed address there
  (umask 077; openssl rand -hex 16 > token); tasuki dashboard --listen 10.0.0.1:9466 --token-file token

It prints an address with a token, which a browser opens; who has no token sees nothing of the hosts. The \
page is one file that needs nothing from elsewhere. It is plain HTTP: whoever is on the network between \
browser and dashboard can read it, so an address that other machines reach is refused without a token of \
your own, and ssh -L is the way that encrypts.

An hour second by second and a day half minute by half minute are kept in memory, for as long as the \
command runs; of 64 hosts with four NICs that is less than 50 MB. Hosts need nothing but tasuki itself: \
an agent runs on each over ssh for as long as this command does.")]
pub struct DashboardArgs {
    /// Hosts of this lab; none: the only one that is up, or this machine
    #[arg(long, conflicts_with = "cluster")]
    pub lab: Option<String>,
    /// The machines of this cluster file, over ssh
    #[arg(long)]
    pub cluster: Option<PathBuf>,
    /// Where browsers reach the page; port 0: any that is free
    #[arg(long, default_value = "127.0.0.1:9466")]
    pub listen: SocketAddr,
    /// A further name under which browsers open the page, as through a proxy; it may be given several times
    #[arg(long, value_name = "NAME")]
    pub name: Vec<String>,
    /// A file with the token, which only its owner may read; none: one is drawn
    #[arg(long)]
    pub token_file: Option<PathBuf>,
    /// Show the findings of this file, too: what `tasuki check --json` has printed, read anew when it changes
    #[arg(long, value_name = "FILE.json")]
    pub findings: Option<PathBuf>,
    /// Print JSON: the address to open, as {"url": "..."}
    #[arg(long)]
    pub json: bool,
}
