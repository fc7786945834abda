//! Why striping fails.

use tasuki_sys::netlink::NetlinkError;
use thiserror::Error;

/// Why striping cannot be set, read or taken away.
#[derive(Debug, Error)]
pub enum StripeError {
    /// The kernel refused the program or its tables.
    #[error("striping: cannot {doing}: {why}{}", advice(why))]
    Program {
        /// What was attempted.
        doing: &'static str,
        /// What the kernel or the loader said.
        why: String,
    },
    /// The kernel refused a filter.
    #[error("striping: {0}")]
    Netlink(#[from] NetlinkError),
    /// The plan names an interface that is not there, or is no Ethernet interface.
    #[error(
        "striping: {interface} {what}; correct `nics` of [striping], or the NIC's name in the cluster file"
    )]
    Interface {
        /// The interface.
        interface: String,
        /// What is wrong with it.
        what: &'static str,
    },
}

fn advice(why: &str) -> &'static str {
    let refused =
        why.contains("os error 1)") || why.contains("not permitted") || why.contains("os error 13)");
    if refused { ". It needs root, and a kernel that lets root load eBPF programs" } else { "" }
}

/// An argument for `map_err`: the error of what was attempted.
pub(crate) fn doing<E: std::error::Error>(doing: &'static str) -> impl FnOnce(E) -> StripeError {
    move |error| {
        // What the loader says is little; what the kernel said is in the sources of its error.
        let mut why = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            why = format!("{why}: {cause}");
            source = cause.source();
        }
        StripeError::Program { doing, why }
    }
}
