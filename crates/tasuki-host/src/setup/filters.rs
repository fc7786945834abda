//! Filters of other programs in the place that Tasuki has made for its own.

use crate::{Change, HostError, Key, Value, kernel::Kernel};

/// Takes out of the changes the removal of places for programs in which others have filters, and says which
/// stay.
pub(super) fn spare_filters(
    kernel: &mut Kernel,
    changes: &mut Vec<Change>,
) -> Result<Vec<String>, HostError> {
    let (mut kept, mut notes) = (Vec::new(), Vec::new());
    for change in changes.drain(..) {
        match &change.key {
            key @ Key::Clsact { interface }
                if change.to == Value::Absent && kernel.has_others_filters(interface)? =>
            {
                notes.push(format!("{key}: other programs have filters there; left alone"));
            }
            _ => kept.push(change),
        }
    }
    *changes = kept;
    Ok(notes)
}
