//! Delays that a driver may overwrite: they are set again after it has been interrupted.

use super::Report;
use crate::{
    HostError,
    forgets::{SETTLED, forgets, write_again},
    kernel::Kernel,
};
use std::thread::sleep;

/// Writes the delays of those of these NICs once more whose driver may overwrite them. The wait before that
/// is the same for one NIC and for many. NICs that are down are left out: without interrupts nothing is
/// overwritten.
pub(super) fn hold(kernel: &mut Kernel, interfaces: &[&str], report: &mut Report) -> Result<(), HostError> {
    let is_one = |name: &&&str| {
        kernel.link(name).is_ok_and(|link| link.up)
            && kernel.driver(name).is_some_and(|driver| forgets(&driver))
    };
    let kept: Vec<_> = interfaces.iter().filter(is_one).collect();
    if kept.is_empty() {
        return Ok(());
    }
    sleep(SETTLED);
    for name in kept {
        write_again(name).map_err(kernel.ethtool())?;
        report.notes.push(format!(
            "{name}: written twice, {} s apart: its driver may write a number that it had chosen before in \
             between",
            SETTLED.as_secs()
        ));
    }
    Ok(())
}
