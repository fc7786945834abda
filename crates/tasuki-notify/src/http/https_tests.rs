//! HTTPS against another implementation: the server of Python's standard library, with a certificate that
//! openssl(1) made.

use super::{Failure, mail, post_by, post_by_curl, post_https};
use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
};
use tasuki_testkit::scripts::write_program;

/// Answers each POST with the code that its path names, prints its body, and its port before all.
const SERVER: &str = r#"
import http.server, ssl, sys
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        print(self.path, self.headers["Content-Type"], body.decode(), flush=True)
        self.send_response(int(self.path[1:4]))
        self.send_header("Location", "/200")
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Hook)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("cert.pem", "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
"#;

/// A server of its own, which ends with its value.
struct Server(Child);

impl Server {
    fn start(folder: &Path) -> (Server, u16, impl BufRead) {
        let made = Command::new("openssl")
            .args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1".split(' '))
            .args("-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1".split(' '))
            .args(["-keyout", "key.pem", "-out", "cert.pem"])
            .current_dir(folder)
            .output()
            .expect("openssl runs");
        assert!(made.status.success(), "{made:?}");
        let mut python = Command::new("python3");
        python.args(["-c", SERVER]).current_dir(folder).stdout(Stdio::piped());
        let mut child = python.spawn().expect("python3 runs");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
        let server = Server(child);
        let mut line = String::new();
        lines.read_line(&mut line).expect("reads");
        (server, line.trim().parse().expect("a port"), lines)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn no_command_line_shows_where_a_user_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let curl = folder.path().join("curl");
    let script = "#!/bin/sh\ncd ${0%/*}\ntr '\\0' ' ' < /proc/$$/cmdline > words\ncat > input\necho 200\n";
    write_program(&curl, script);
    let url = "https://example.org/secret";
    assert_eq!(post_by(&curl, url, "{}", &[]), Ok(()));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("reads");
    let words = read("words");
    assert!(words.contains("--config -") && !words.contains("example"), "{words}");
    assert_eq!(read("input"), format!("url = \"{url}\"\n"));
}

#[test]
fn a_server_with_a_certificate_gets_the_record_and_its_answer_is_judged_as_that_of_http() {
    if mail::program("curl").is_none() {
        assert!(std::env::var_os("TASUKI_NO_SKIP").is_none(), "needs curl");
        eprintln!("skipped: needs curl");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (server, port, mut lines) = Server::start(folder.path());
    let trusted = folder.path().join("cert.pem").display().to_string();
    let post = |path: &str| {
        post_by_curl(&format!("https://127.0.0.1:{port}{path}"), "{\"id\":7}", &["--cacert", &trusted])
    };
    assert_eq!([post("/200"), post("/204?a=[b]&c")], [Ok(()), Ok(())]);
    for (path, passes) in [("/503", true), ("/429", true), ("/404", false), ("/302", false)] {
        let failure = post(path).unwrap_err();
        assert_eq!(matches!(failure, Failure::Passing(_)), passes, "{path}: {failure:?}");
        assert!(format!("{failure:?}").contains(&path[1..]), "{failure:?}");
    }
    // An authority that this host does not know is no reason to tell anybody about the job.
    let failure = post_https(&format!("https://127.0.0.1:{port}/200"), "{}").unwrap_err();
    let lasts = matches!(&failure, Failure::Lasting(why) if why.contains("certificate"));
    assert!(lasts, "{failure:?}");
    drop(server);
    let mut said = String::new();
    lines.read_to_string(&mut said).expect("reads");
    let bodies: Vec<_> = said.lines().collect();
    let expected = ["/200", "/204?a=[b]&c", "/503", "/429", "/404", "/302"];
    assert_eq!(bodies, expected.map(|path| format!("{path} application/json {{\"id\":7}}")));
    let failure = post("/200").unwrap_err();
    assert!(
        matches!(&failure, Failure::Passing(why) if why.contains("onnect")),
        "nobody listens: {failure:?}"
    );
}
