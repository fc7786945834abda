//! Commands of the command line, without a prompt.

use super::show;
use serde_json::{Value, json};
use tasuki_args::DebugCommands;
use tasuki_debug::{
    Line,
    session::{Answer, End, Session, groups},
};
use tasuki_terminal::{Failure, print_json};

/// Gives all commands in turn. Returns whether all were taken, and Ctrl-C has not ended it.
pub fn run(session: &mut Session, commands: &DebugCommands) -> Result<bool, Failure> {
    let mut reports = Vec::new();
    let mut is_well = true;
    for command in &commands.command {
        let (spans, command) = match Line::read(command).map_err(Failure::new)? {
            Line::Command(spans, command) => (spans.unwrap_or_default(), command),
            _ => return Err(Failure::new(format!("--command {command:?} is no command of gdb"))),
        };
        if !is_well || session.was_interrupted() {
            is_well = false;
            break;
        }
        let of = session.of(&spans);
        let mut all = Vec::new();
        let json = commands.json;
        let end = session.perform(&of, &command, Some(commands.limit), |session, answers| {
            if !json {
                show(session, &command, &answers);
            }
            all.extend(answers);
        });
        is_well &= end == End::Settled;
        if json {
            reports.push(report(session, &command, &mut all));
        }
    }
    if commands.json {
        print_json(&reports)?;
    }
    Ok(is_well)
}

fn report(session: &Session, command: &str, answers: &mut [Answer]) -> Value {
    answers.sort_unstable();
    let ranks = |of: &[usize]| -> Vec<Value> {
        let member = |at: &usize| &session.ranks.members[*at].debuggee;
        of.iter().map(|at| member(at).rank.map_or(Value::Null, Value::from)).collect()
    };
    let merged: Vec<Value> = groups(command, answers)
        .iter()
        .map(|group| json!({ "ranks": ranks(&group.of), "text": group.text }))
        .collect();
    let answers: Vec<Value> = answers
        .iter()
        .map(|(at, text)| {
            let member = &session.ranks.members[*at];
            let process = &member.debuggee;
            json!({ "rank": process.rank, "host": member.host_name, "pid": process.pid, "text": text })
        })
        .collect();
    json!({ "command": command, "merged": merged, "answers": answers })
}
