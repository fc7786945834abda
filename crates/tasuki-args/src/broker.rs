//! `tasuki broker`.

use clap::{Args, builder::RangedI64ValueParser};
use std::path::PathBuf;
use tasuki_link::broker::SOCKET;

/// Options of the broker.
#[derive(Debug, Args)]
#[command(after_help = "\
Short messages between hosts take half the time in Ethernet frames of Tasuki's own
(docs/internals/transport.md, \"Lanes\"), for which a program needs CAP_NET_RAW. MPI programs have none, so
this service opens the sockets and passes them to members of a group. What such a member can do then, and
what not: docs/guide/security.md.
Programs ask it by themselves, at TASUKI_BROKER or the usual place, if they may not open sockets; without it
they use UDP. It runs until SIGTERM; lanes that it has given go on.

As a service (the Debian package brings the units):
  systemctl enable --now tasuki-broker.socket
  usermod --append --groups tasuki USER        # the user then logs in anew
  tasuki doctor                                # says whether it works

By hand:
  sudo tasuki broker --group users

Rules that let lanes send nothing but Tasuki's frames, see docs/guide/security.md:
  tasuki broker --print-guard _tasuki | nft -f -    # and start the broker with --guarded")]
pub struct BrokerArgs {
    /// Where to listen; a socket from systemd (LISTEN_FDS) goes before it
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    pub socket: PathBuf,
    /// Group whose members get lanes, by name or number. Root always does
    #[arg(long, value_name = "GROUP", default_value = "tasuki")]
    pub group: String,
    /// Give lanes of this NIC (repeatable) instead of all NICs in the host's table of rails
    #[arg(long = "nic", value_name = "NAME")]
    pub nics: Vec<String>,
    /// The host's table of rails
    #[arg(long, value_name = "FILE", env = "TASUKI_RAILS", default_value = tasuki_cluster::RailTable::PATH)]
    pub rails: PathBuf,
    /// Memory for the receive rings of all lanes, MiB. It is locked in the kernel
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = at_least_one())]
    pub memory: u32,
    /// Memory for one user's rings, MiB
    #[arg(long, value_name = "MIB", default_value_t = 128, value_parser = at_least_one())]
    pub user_memory: u32,
    /// Lanes in all
    #[arg(long, value_name = "NUMBER", default_value_t = 4096, value_parser = at_least_one())]
    pub lanes: u32,
    /// Lanes of one user
    #[arg(long, value_name = "NUMBER", default_value_t = 1024, value_parser = at_least_one())]
    pub user_lanes: u32,
    /// Frames take the way through the NIC's queueing discipline, where the guard's rules see them whole
    #[arg(long)]
    pub guarded: bool,
    /// Print rules for nftables that let sockets of this user (the broker's) send nothing but Tasuki's
    /// frames, and end
    #[arg(long, value_name = "USER")]
    pub print_guard: Option<String>,
}

/// With 0 of anything the broker could give no lane at all.
fn at_least_one() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}
