//! PyTorch's backend `tasuki` in labs: collectives of tensors, and a model that is trained in parallel,
//! beside Gloo.

use crate::support::{TestLab, background, ok, skip_without_root, tasuki};
use std::{
    io::Read,
    path::Path,
    sync::atomic::{AtomicU32, Ordering},
};

/// Runs a program of this test on each host of a lab, with a backend; what each prints.
fn run(lab: &TestLab, program: &str, backend: &str, size: usize) -> Vec<String> {
    static PORT: AtomicU32 = AtomicU32::new(29500);
    let port = PORT.fetch_add(1, Ordering::Relaxed);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(program);
    let environment = ok(tasuki().args(["env", "--for", "torch"]));
    let start = |rank: usize| {
        let line = format!(
            "{environment}\nexport MASTER_ADDR=n1 MASTER_PORT={port} RANK={rank} WORLD_SIZE={size} \
             OMP_NUM_THREADS=1\nexec /usr/bin/python3 {} {backend} 2>&1",
            file.display()
        );
        background(&mut lab.exec(&format!("n{}", rank + 1), &["sh", "-c", &line]))
    };
    let ranks: Vec<_> = (0..size).map(start).collect();
    let end = |(rank, mut child): (usize, crate::support::Background)| {
        let mut said = String::new();
        child.0.stdout.take().expect("a pipe").read_to_string(&mut said).expect("text");
        let status = child.0.wait().expect("ends");
        assert!(status.success(), "{backend}, rank {rank}: {status}\n{said}");
        said
    };
    ranks.into_iter().enumerate().map(end).collect()
}

/// The line of a rank's output that begins so, without the beginning.
fn line<'a>(said: &'a str, beginning: &str) -> &'a str {
    said.lines().find_map(|line| line.strip_prefix(beginning)).unwrap_or_else(|| panic!("{said}"))
}

/// On three hosts in a line the outer two reach each other through the middle one.
#[test]
fn tensors_are_reduced_gathered_and_sent() {
    if skip_without_root("tensors_are_reduced_gathered_and_sent") {
        return;
    }
    let lab = TestLab::up("torch", &["--shape", "mesh:3x1"]);
    for said in run(&lab, "tensors.py", "tasuki", 3) {
        assert_eq!(line(&said, "tensors "), "ok");
    }
}

/// With two ranks there is one order in which gradients can be added, so the weights must be Gloo's, bit by
/// bit.
#[test]
fn a_model_that_is_trained_in_parallel_has_the_weights_that_gloo_gives() {
    if skip_without_root("a_model_that_is_trained_in_parallel_has_the_weights_that_gloo_gives") {
        return;
    }
    let lab = TestLab::up("train", &["--shape", "full:2"]);
    let weights = |backend| {
        let said = run(&lab, "train.py", backend, 2);
        let of: Vec<_> = said.iter().map(|said| line(said, "weights ").to_owned()).collect();
        assert_eq!(of[0], of[1], "{backend}");
        of[0].clone()
    };
    assert_eq!(weights("tasuki"), weights("gloo"));
}
