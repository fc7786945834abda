//! Kernel settings below `/proc/sys`. Files below `net/` belong to the network namespace of the thread that
//! opens them.

use crate::HostError;
use std::{fs, path::Path};
use tasuki_cluster::HostPlan;

/// Writes the plan's settings in order; a value that is there already is not written again.
pub fn write(plan: &HostPlan) -> Result<(), HostError> {
    for setting in &plan.sysctls {
        let path = Path::new("/proc/sys").join(&setting.path);
        if fs::read_to_string(&path).is_ok_and(|now| now.trim() == setting.value) {
            continue;
        }
        fs::write(&path, &setting.value).map_err(|source| HostError::Sysctl {
            host: plan.host.clone(),
            path,
            value: setting.value.clone(),
            source,
        })?;
    }
    Ok(())
}
