//! Agents that shells of this machine play.

use super::*;

/// An agent on this machine that a shell plays.
fn shell(script: &str) -> Agents {
    Agents::start(&Fleet::Local, &Task::program(["sh", "-c", script]))
}

fn ask(agents: &mut Agents, limit: Duration) -> Result<u32, String> {
    agents.tell(limit, |_| Some("order")).remove(0).expect("it was asked")
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn orders_are_lines_and_so_are_answers() {
    let mut agents = shell(r#"read a; echo 7; read b; [ "$a$b" = '"order""order"' ] && echo 8; read c"#);
    assert_eq!([ask(&mut agents, LONG), ask(&mut agents, LONG)], [Ok(7), Ok(8)]);
    assert_eq!(agents.lost(), []);
    assert!(agents.tell::<u8, u8>(LONG, |_| None)[0].is_none(), "it was not asked");
}

#[test]
fn a_host_that_is_lost_is_named_with_the_reason_and_not_waited_for_again() {
    let mut silent = shell("cat > /dev/null");
    assert_eq!(ask(&mut silent, Duration::from_millis(50)), Err("it does not answer any more".into()));
    assert_eq!(ask(&mut silent, LONG), Err("it does not answer any more".into()));
    let mut ended = shell("read a; echo broken >&2; exit 3");
    assert!(ask(&mut ended, LONG).unwrap_err().contains("broken"));
    let mut odd = shell(r#"read a; echo '{"of": "another"}'; read b"#);
    assert!(ask(&mut odd, LONG).unwrap_err().contains("another version"));
    assert_eq!((odd.lost().len(), odd.len(), odd.is_empty()), (1, 1, false));
}

#[test]
fn a_host_that_ends_its_answers_and_goes_on_complaining_is_lost_at_once() {
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let mut chatty = shell("read a; exec >&-; while :; do echo x >&2; sleep 0.05; done");
        // The test has failed already if nobody receives this.
        let _ = sender.send(ask(&mut chatty, LONG));
    });
    let answer = receiver.recv_timeout(LONG).expect("the wait for last words ends");
    assert!(answer.unwrap_err().starts_with("it does not answer: x"));
}

#[test]
fn what_start_files_print_before_the_first_answer_is_passed_over() {
    let script = r"echo Welcome; printf '\377\n[1\n'; read a; echo 7; read b; echo oh; read c";
    let mut greeted = shell(script);
    assert_eq!(ask(&mut greeted, LONG), Ok(7));
    assert!(ask(&mut greeted, LONG).unwrap_err().contains("another version"), "later it is an answer");
    let mut refused = shell("echo This account is not available.; exit 1");
    let why = ask(&mut refused, LONG).unwrap_err();
    assert!(why.contains("\"This account is not available.\""), "{why}");
    let mut endless = shell("yes");
    assert!(ask(&mut endless, LONG).unwrap_err().contains("oddly"));
}
