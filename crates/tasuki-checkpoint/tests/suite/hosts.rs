//! Which processes are on one host.

use std::time::Duration;

use tasuki_checkpoint::{Checkpoint, Options};

use crate::hall::{each, memory_folder, seats};

/// Hosts that were installed from one image have one name. Processes with the same name, and nothing that
/// tells their hosts apart, share a disk.
#[test]
fn hosts_of_one_name_keep_copies_for_each_other() {
    for (machines, are_kept) in [(["first", "second"], true), (["first", "first"], false)] {
        let root = memory_folder();
        let copied = each(seats(2, 0, None), |rank, seat| {
            let options = Options {
                folder: root.path().join(format!("host-{rank}")),
                host: "debian".to_owned(),
                machine: machines[rank].to_owned(),
                every: None,
                failures: Duration::from_secs(86_400),
                copies: true,
                keep: 2,
            };
            let mut checkpoint = Checkpoint::open(seat, Ok(options)).expect("opens");
            checkpoint.restore(vec![(1, &mut [0; 100])]).expect("nothing to restore");
            checkpoint.save(vec![(1, &[5; 100])]).expect("saved").copied
        });
        assert!(copied.iter().all(|bytes| (*bytes > 0) == are_kept), "{machines:?}: {copied:?}");
    }
}
