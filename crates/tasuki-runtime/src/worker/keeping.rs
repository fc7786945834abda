//! What takes long once a checkpoint is whole on all hosts: the disk has to have it, and another host gets
//! a copy.

use crate::{copies::Copies, images::Images};
use std::{io, sync::mpsc::Sender};
use tasuki_control::{Epoch, ImageReport, JobId};

/// Waits until the disk has a checkpoint that was named, and sends its copy to another host. `read`: one that
/// is being sent to it already.
pub(super) fn take_care(
    (images, copies): (&Images, &Copies),
    (job, epoch): (JobId, Epoch),
    read: Option<Epoch>,
    copy: Option<String>,
    tell: &Sender<ImageReport>,
) {
    // Without a daemon nobody wants to know what came of either.
    if let Err(error) = images.tidy(job, epoch, read) {
        let _ = tell.send(not_kept(job, epoch, &error));
    }
    if let Some(to) = copy {
        let outcome = copies.put(&to, job, epoch, images);
        let _ = tell.send(ImageReport::Copied { job, epoch, outcome });
    }
}

/// What the queue is told of a checkpoint that counted already.
pub(super) fn not_kept(job: JobId, epoch: Epoch, error: &io::Error) -> ImageReport {
    ImageReport::Saved { job, epoch, outcome: Err(format!("its checkpoint cannot be kept there: {error}")) }
}
