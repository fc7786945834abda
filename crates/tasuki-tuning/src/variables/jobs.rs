//! What Tasuki sets for the ranks of submitted jobs, and what they may read.

use super::variable::{Reader, Values, Variable};

const fn told(name: &'static str, values: &'static str, meaning: &'static str) -> Variable {
    Variable { name, default: "", values: Values::Text(values), meaning, readers: &[Reader::Ranks] }
}

/// All of them, in the order of the documentation.
pub(super) const ALL: &[Variable] = &[
    told("TASUKI_ARRAY_INDEX", "a number", "Set for a task of an array: its index."),
    told("TASUKI_ARRAY_JOB", "a number", "Set for a task of an array: the number of the array."),
    told(
        "TASUKI_JOB_ID",
        "letters, digits, - and _",
        "Name of the job, which Tasuki gives to all of the job's processes and by which it finds those that \
         are left to be killed. A program should leave it as it is.",
    ),
    told(
        "TASUKI_RUN_ID",
        "letters, digits and -",
        "Name of a job that `tasuki run` has started by its MPI's launcher, for `top`, `stacks` and `hang`.",
    ),
    told(
        "TASUKI_OMP",
        "1",
        "Set by `tasuki omp` for the processes of a program, whose threads it spreads; not for users.",
    ),
    told(
        "TASUKI_OMP_PROFILE",
        "a file, or -",
        "Set by `tasuki omp --profile`: where the profile goes; - for standard error alone; not for users.",
    ),
    told(
        "TASUKI_CORES_HOST",
        "the name of a host",
        "Set by `tasuki run --cores` for every rank: the host that it runs on, which core files then tell.",
    ),
    told(
        "TASUKI_OPENMPI_HOSTS",
        "hosts with numbers of ranks",
        "Set by the runtime for the launcher and the daemons of an Open MPI; not for users.",
    ),
    told(
        "TASUKI_OPENMPI_DOOR",
        "the path of a socket",
        "Set by the launcher of an Open MPI for the agents that start its daemons; not for users.",
    ),
];
