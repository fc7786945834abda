//! `tasuki slurm ...`

use std::{env, fs, path::Path, process::ExitCode};
use tasuki_args::{SlurmCommand, SlurmConf, SlurmProlog, transport::choose};
use tasuki_cluster::Cluster;
use tasuki_fleet::{Fleet, SshHosts};
use tasuki_job::{Finder, check_one_network, facts, key_advice};
use tasuki_launch::{Binding, Facts, Scope, Setting, environment};
use tasuki_slurm::Files;
use tasuki_terminal::{Failure, print_json};

/// Runs a command for Slurm.
pub fn run(command: SlurmCommand) -> Result<ExitCode, Failure> {
    match command {
        SlurmCommand::Conf(arguments) => conf(&arguments)?,
        SlurmCommand::TaskProlog(arguments) => task_prolog(&arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn conf(arguments: &SlurmConf) -> Result<(), Failure> {
    let files = Files::of(&arguments.source.cluster()?);
    if arguments.json {
        return print_json(&files);
    }
    let Some(folder) = &arguments.output else {
        for (name, text) in files.named() {
            println!("##### {name}\n{text}");
        }
        return Ok(());
    };
    arguments.overwrite.check_in(folder, files.named().map(|(name, _)| name))?;
    fs::create_dir_all(folder)
        .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))?;
    for (name, text) in files.named() {
        write(&folder.join(name), text)?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
    eprintln!("tasuki: wrote {}", path.display());
    Ok(())
}

/// Prints `export NAME=VALUE` for each variable that a task's MPI needs and that is not set for the task.
fn task_prolog(arguments: &SlurmProlog) -> Result<(), Failure> {
    let mpi = Finder::local()?.one(&arguments.mpi)?;
    let cluster = Cluster::load(&arguments.cluster)?;
    check_one_network(&cluster)?;
    let choice = choose(arguments.transport, &mpi)?;
    if let Some(key) = key_advice(&cluster, &choice)?
        && env::var_os(key.variable).is_none()
    {
        return Err(Failure::new(format!(
            "packets of this cluster carry keyed tags, and all tasks of a job need one key. In its script, \
             before srun: export {}={}",
            key.variable, key.shell
        )));
    }
    let fleet = Fleet::Ssh(Box::new(SshHosts::new(cluster)));
    let facts = of_job(facts(&fleet, 1)?, |name| env::var(name).ok()?.parse().ok());
    for setting in environment(&mpi, &choice, &facts) {
        if let Some(value) = task_value(&setting, env::var(setting.variable()).ok()) {
            println!("export {}={value}", setting.variable());
        }
    }
    Ok(())
}

/// What is known of a job by Slurm's variables: how many tasks it has, on how many nodes, and how many
/// processors it has on this one. Slurm starts the tasks, and binds them as its administrator says.
fn of_job(facts: Facts, number: impl Fn(&str) -> Option<usize>) -> Facts {
    let hosts = number("SLURM_STEP_NUM_NODES").or(number("SLURM_NNODES")).unwrap_or(facts.hosts);
    let tasks = number("SLURM_STEP_NUM_TASKS").or(number("SLURM_NTASKS")).unwrap_or(1);
    let processors = number("SLURM_CPUS_ON_NODE").map(|each| each * hosts);
    let oversubscribed = processors.is_some_and(|processors| tasks > processors);
    Facts { management: None, agent: None, hosts, oversubscribed, binding: Binding::Library, ..facts }
}

/// The value that a task gets for a setting; `None` if the user's own stays. A list of folders is appended
/// to the user's.
fn task_value(setting: &Setting, own: Option<String>) -> Option<String> {
    match (setting.scope, own) {
        (Scope::Folders, Some(own)) if !own.is_empty() => Some(format!("{own}:{}", setting.value)),
        (_, None) | (Scope::Folders, _) => Some(setting.value.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts_with(variables: &[(&str, usize)]) -> Facts {
        let facts = Facts {
            identity_interface: "tasuki0".into(),
            management: None,
            agent: None,
            hosts: 8,
            oversubscribed: true,
            binding: Binding::None,
        };
        of_job(facts, |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value))
    }

    #[test]
    fn a_step_counts_and_not_the_cluster() {
        let job = [("SLURM_NNODES", 4), ("SLURM_NTASKS", 16), ("SLURM_CPUS_ON_NODE", 4)];
        let facts = facts_with(&job);
        assert_eq!((facts.hosts, facts.oversubscribed), (4, false));
        let facts = facts_with(&[&job[..], &[("SLURM_STEP_NUM_NODES", 1)]].concat());
        assert_eq!((facts.hosts, facts.oversubscribed), (1, true), "16 tasks on 4 processors");
        assert!(!facts_with(&[]).oversubscribed, "of which nothing is known");
    }

    #[test]
    fn what_a_user_has_set_stays_and_lists_grow() {
        let set = |scope| Setting { scope, name: "A", value: "/ours".into(), why: "" };
        let own = || Some("/mine".to_owned());
        assert_eq!(task_value(&set(Scope::Variable), None).as_deref(), Some("/ours"));
        assert_eq!(task_value(&set(Scope::Variable), own()), None);
        assert_eq!(task_value(&set(Scope::Folders), own()).as_deref(), Some("/mine:/ours"));
        assert_eq!(task_value(&set(Scope::Folders), Some(String::new())).as_deref(), Some("/ours"));
    }
}
