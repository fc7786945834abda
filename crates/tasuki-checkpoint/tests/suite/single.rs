//! Single cases, each told to all processes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use tasuki_checkpoint::{Checkpoint, Error, Options};

use crate::hall::{Seat, each, memory_folder, seats};

fn options(folder: &Path, host: usize) -> Options {
    Options {
        folder: folder.join(format!("host-{host}")),
        host: format!("host-{host}"),
        machine: String::new(),
        every: None,
        failures: Duration::from_secs(86_400),
        copies: true,
        keep: 2,
    }
}

/// Runs a body at each of so many processes, each on a host of its own.
fn all<T: Send>(
    size: usize,
    root: &Path,
    body: impl Fn(usize, &mut Checkpoint<Seat>) -> T + Sync,
) -> Vec<Result<T, Error>> {
    each(seats(size, 0, None), |rank, seat| {
        Ok(body(rank, &mut Checkpoint::open(seat, Ok(options(root, rank)))?))
    })
}

fn save(checkpoint: &mut Checkpoint<Seat>, byte: u8) -> Result<u64, String> {
    let saved = checkpoint.save(vec![(1, &[byte; 100])]);
    saved.map(|saved| saved.epoch).map_err(|error| error.to_string())
}

fn restore(checkpoint: &mut Checkpoint<Seat>) -> Result<(Option<u64>, [u8; 100]), String> {
    let mut memory = [0; 100];
    let restored = checkpoint.restore(vec![(1, &mut memory)]).map_err(|error| error.to_string())?;
    Ok((restored.epoch, memory))
}

fn texts<T: std::fmt::Debug>(told: Vec<Result<Result<T, String>, Error>>) -> Vec<String> {
    told.into_iter().map(|one| one.expect("opened").expect_err("an error")).collect()
}

/// A folder in the place where one process is to write: root may write everywhere, so that rights would stop
/// nobody here.
#[test]
fn a_process_that_cannot_write_is_named_to_all_and_the_older_epoch_stays() {
    let root = memory_folder();
    let path = root.path().to_owned();
    let saved = all(3, &path, |rank, checkpoint| {
        restore(checkpoint).expect("nothing to restore");
        assert_eq!(save(checkpoint, 1), Ok(1));
        rank
    });
    assert!(saved.iter().all(Result::is_ok));
    // A file-system of 64 KiB would do as well, but needs root. Here the epoch's own folder cannot be made.
    let blocked = root.path().join("host-1");
    let told = texts(all(3, &path, move |rank, checkpoint| {
        assert_eq!(restore(checkpoint).expect("epoch 1"), (Some(1), [1; 100]));
        if rank == 1 {
            // A process's files are removed under it.
            fs::remove_dir_all(checkpoint.folder()).expect("removed");
            fs::write(checkpoint.folder(), "no folder").expect("written");
        }
        save(checkpoint, 2)
    }));
    for (rank, text) in told.iter().enumerate() {
        assert!(text.contains("cannot write") && text.contains("host-1"), "{rank}: {text}");
    }
    assert!(told[0].contains("process 1 on host-1"), "{}", told[0]);
    fs::remove_file(&blocked).expect("removed");
    let again = all(3, &path, |_, checkpoint| restore(checkpoint));
    assert!(again.into_iter().all(|one| one.expect("opened") == Ok((Some(1), [1; 100]))));
}

#[test]
fn other_memory_and_other_numbers_of_processes_are_refused_by_all() {
    let root = memory_folder();
    let path = root.path().to_owned();
    let saved = all(2, &path, |_, checkpoint| {
        restore(checkpoint).expect("nothing to restore");
        save(checkpoint, 1)
    });
    assert!(saved.into_iter().all(|one| one.expect("opened") == Ok(1)));
    let told = texts(all(2, &path, |rank, checkpoint| {
        let mut memory = vec![0; 100 + rank];
        checkpoint.restore(vec![(1, &mut memory)]).map_err(|error| error.to_string())
    }));
    for text in &told {
        assert!(text.contains("1: 100 bytes; registered is 1: 101 bytes"), "{text}");
    }
    let told = texts(all(3, &path, |_, checkpoint| restore(checkpoint)));
    for text in &told {
        assert!(text.contains("of 2 processes, this program has 3: run it with 2"), "{text}");
    }
    let told = texts(all(2, &path, |_, checkpoint| save(checkpoint, 2)));
    assert!(told[0].contains("restore first"), "{}", told[0]);
    let told = texts(all(2, &path, |_, checkpoint| {
        let (mut one, mut two) = ([0; 1], [0; 1]);
        checkpoint.restore(vec![(3, &mut one), (3, &mut two)]).map_err(|error| error.to_string())
    }));
    assert!(told[1].contains("memory 3 is registered twice"), "{}", told[1]);
}

#[test]
fn files_are_the_users_alone_few_and_gone_at_the_end() {
    let root = memory_folder();
    let path = root.path().to_owned();
    let done = all(2, &path, |_, checkpoint| {
        restore(checkpoint).expect("nothing to restore");
        for round in 1..=5 {
            assert_eq!(save(checkpoint, round), Ok(u64::from(round)));
        }
        let folder = checkpoint.folder().to_owned();
        let mode = fs::metadata(&folder).expect("a folder").permissions().mode() & 0o777;
        assert_eq!(mode, 0o700);
        let epochs = fs::read_dir(&folder).expect("a folder").flatten().filter(|entry| entry.path().is_dir());
        assert_eq!(epochs.count(), 2, "two are kept");
        checkpoint.finish().expect("finished");
        fs::read_dir(&folder).expect("a folder").flatten().filter(|entry| entry.path().is_dir()).count()
    });
    assert!(done.into_iter().all(|left| left.expect("opened") == 0));
    let again = all(2, &path, |_, checkpoint| restore(checkpoint));
    assert!(again.into_iter().all(|one| one.expect("opened") == Ok((None, [0; 100]))));
}

#[test]
fn a_folder_serves_one_program_at_a_time() {
    let root = memory_folder();
    let open = || Checkpoint::open(seats(1, 0, None).remove(0), Ok(options(root.path(), 0)));
    let first = open().expect("opened");
    let error = open().expect_err("in use").to_string();
    assert!(error.contains("in use by another process of rank 0"), "{error}");
    drop(first);
    open().expect("free again");
}

/// An epoch whose images are all lost is told; a first one that was never finished is begun anew.
#[test]
fn a_lost_epoch_is_an_error_and_an_unfinished_one_is_not() {
    let root = memory_folder();
    let path = root.path().to_owned();
    all(2, &path, |_, checkpoint| {
        restore(checkpoint).expect("nothing to restore");
        save(checkpoint, 1).expect("saved");
    });
    let take = |host: usize| {
        let folder = fs::read_dir(root.path().join(format!("host-{host}"))).expect("a folder");
        let epoch = folder.flatten().find(|entry| entry.path().is_dir()).expect("an epoch").path();
        fs::remove_file(epoch.join("rank-0")).expect("an image");
        epoch
    };
    let epochs = [take(0), take(1)];
    let told = texts(all(2, &path, |_, checkpoint| restore(checkpoint)));
    assert!(
        told[0].contains("no checkpoint is complete") && told[0].contains("no image of process 0"),
        "{told:?}"
    );
    for epoch in epochs {
        fs::remove_file(epoch.join("finished")).expect("the mark");
    }
    let anew = all(2, &path, |_, checkpoint| restore(checkpoint));
    assert!(anew.into_iter().all(|one| one.expect("opened") == Ok((None, [0; 100]))));
}

/// A program that dies while it removes what it needs no more: its next run begins anew, or goes on, and is
/// not told of a loss.
#[test]
fn an_end_that_is_broken_off_is_no_loss() {
    for call in 0..40 {
        let root = memory_folder();
        let end = |dies| {
            each(seats(2, call, dies), |rank, seat| {
                let mut checkpoint = Checkpoint::open(seat, Ok(options(root.path(), rank)))?;
                let mut memory = [0; 100];
                checkpoint.restore(vec![(1, &mut memory)])?;
                checkpoint.save(vec![(1, &[1; 100])])?;
                checkpoint.finish()
            })
        };
        end(Some((1, call)));
        for ended in end(None) {
            ended.expect("no loss");
        }
    }
}

/// A host that is away when a run ends has epochs of it, with a copy for another rank. When it takes part
/// again, they are not what the next run goes on from, whether it has saved anything yet or not, and go.
#[test]
fn a_host_that_was_away_when_a_run_ended_does_not_bring_it_back() {
    for copies in [true, false] {
        for is_begun in [false, true] {
            let root = memory_folder();
            let on = |hosts: [usize; 2], body: &(dyn Fn(&mut Checkpoint<Seat>) + Sync)| {
                let ran = each(seats(2, 0, None), |rank, seat| {
                    let options = Options { copies, ..options(root.path(), hosts[rank]) };
                    let mut checkpoint = Checkpoint::open(seat, Ok(options))?;
                    let restored = restore(&mut checkpoint);
                    body(&mut checkpoint);
                    Ok::<_, Error>(restored)
                });
                ran.into_iter().map(|one| one.expect("opened")).collect::<Vec<_>>()
            };
            let saves = |byte| move |checkpoint: &mut Checkpoint<Seat>| drop(save(checkpoint, byte));
            on([0, 1], &|checkpoint| (1..=3).for_each(|byte| drop(save(checkpoint, byte))));
            if !copies {
                // Nobody else has the image that another host goes on with.
                copy(&root.path().join("host-1"), &root.path().join("host-2"));
            }
            // Host 1 is away, and the program goes on elsewhere to its end.
            let went_on = on([0, 2], &|checkpoint| {
                save(checkpoint, 4).expect("saved");
                checkpoint.finish().expect("finished");
            });
            assert_eq!(went_on, [Ok((Some(3), [3; 100])), Ok((Some(3), [3; 100]))]);
            if is_begun {
                assert_eq!(on([0, 2], &saves(9)), [Ok((None, [0; 100])), Ok((None, [0; 100]))]);
                copy(&root.path().join("host-2"), &root.path().join("host-1"));
            }
            let found = on([0, 1], &|_| {});
            let wanted = if is_begun { (Some(1), [9; 100]) } else { (None, [0; 100]) };
            assert_eq!(found, [Ok(wanted), Ok(wanted)], "copies: {copies}, begun: {is_begun}");
            let epochs = fs::read_dir(root.path().join("host-1")).expect("a folder").flatten();
            let left = epochs.filter(|entry| entry.path().is_dir()).count();
            assert_eq!(left, usize::from(is_begun), "copies: {copies}, begun: {is_begun}");
        }
    }
}

/// A program that dies while it saves leaves an epoch that may be complete, though nobody was told so. If
/// hosts that hold it are away when it runs again, it saves another epoch of that number. Which of the two is
/// gone on from must not be chance.
#[test]
fn of_two_tries_of_an_epoch_the_one_that_was_told_to_be_saved_counts() {
    let save_as = |byte| {
        let root = memory_folder();
        let saved = all(2, root.path(), |_, checkpoint| {
            restore(checkpoint).expect("nothing to restore");
            save(checkpoint, byte)
        });
        assert!(saved.into_iter().all(|one| one.expect("opened") == Ok(1)));
        root
    };
    let name = |root: &tempfile::TempDir| {
        let entries = fs::read_dir(root.path().join("host-0")).expect("a folder").flatten();
        entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name()).next().expect("an epoch")
    };
    let mut tries = [(save_as(1), 1), (save_as(2), 2)];
    tries.sort_by_key(|(root, _)| name(root));
    // The number that was drawn for the one that nobody was told of is the greater one.
    let [(told, byte), (untold, _)] = &tries;
    for host in ["host-0", "host-1"] {
        fs::remove_file(untold.path().join(host).join(name(untold)).join("finished")).expect("a mark");
        copy(&untold.path().join(host), &told.path().join(host));
    }
    for found in all(2, told.path(), |_, checkpoint| restore(checkpoint)) {
        assert_eq!(found.expect("opened"), Ok((Some(1), [*byte; 100])));
    }
}

/// Copies the epochs of a host to another one.
fn copy(from: &Path, to: &Path) {
    for epoch in fs::read_dir(from).expect("a folder").flatten().filter(|entry| entry.path().is_dir()) {
        let into = to.join(epoch.file_name());
        fs::create_dir_all(&into).expect("a folder");
        for file in fs::read_dir(epoch.path()).expect("a folder").flatten() {
            fs::copy(file.path(), into.join(file.file_name())).expect("copied");
        }
    }
}

/// Hosts whose options differ do as the first: or one would wait for a copy that nobody sends.
#[test]
fn options_are_those_of_the_first_process() {
    let root = memory_folder();
    let found = each(seats(2, 0, None), |rank, seat| {
        let mut options = options(root.path(), rank);
        (options.copies, options.keep) = (rank == 1, 1 + rank);
        options.every = Some(Duration::from_secs(if rank == 0 { 3_600 } else { 1 }));
        let mut checkpoint = Checkpoint::open(seat, Ok(options)).expect("opened");
        restore(&mut checkpoint).expect("nothing to restore");
        assert_eq!([save(&mut checkpoint, 1), save(&mut checkpoint, 2)], [Ok(1), Ok(2)]);
        let due = (0..5).filter(|_| checkpoint.is_due(|| 100).expect("decided")).count();
        let epochs = fs::read_dir(checkpoint.folder()).expect("a folder").flatten();
        (due, epochs.filter(|entry| entry.path().is_dir()).count(), checkpoint.aim())
    });
    assert_eq!(found, [(0, 1, Duration::from_secs(3_600)); 2]);
}
