//! PyTorch by the resident runtime: ranks find each other, and the backend `tasuki`, without a word about it.

use crate::support::{PYTHON, jobs::Cluster, skip_without_torch, text};

#[test]
fn programs_of_pytorch_find_the_backend_without_being_told() {
    if skip_without_torch("programs_of_pytorch_find_the_backend_without_being_told") {
        return;
    }
    let cluster = Cluster::up("torch-run", 3);
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/tensors.py");
    let words = ["--resident", "-n", "3", "-x", "OMP_NUM_THREADS=1", PYTHON, program, "tasuki"];
    let output = cluster.output("run", &words);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(said.lines().filter(|line| *line == "tensors ok").count(), 3, "{said}");
}
