//! Bringing a network namespace into the state of a plan without a record: for hosts of a lab, which end as a
//! whole.

use crate::{HostError, desired::of_plan, difference::difference, kernel::Kernel};
use tasuki_cluster::HostPlan;

/// Brings the calling thread's network namespace into the state that `plan` describes. Idempotent: what is
/// there already stays. Interfaces that the plan does not name are not touched.
///
/// Nothing is recorded, so nothing can be undone. See [`crate::Setup`] for machines that live on.
pub fn apply(plan: &HostPlan) -> Result<(), HostError> {
    let mut kernel = Kernel::open(&plan.host)?;
    for (interface, _) in plan.cabled() {
        kernel.link(interface)?;
    }
    let desired = of_plan(plan);
    let actual = kernel.read_all(desired.iter().map(|(key, _)| key))?;
    for change in difference(&desired, &actual, &[]) {
        kernel.write(&change.key, &change.to)?;
    }
    Ok(())
}
