//! A real browser without a window, told what to do by the DevTools protocol over a pipe.

use super::Background;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

/// Names under which distributions have it.
const NAMES: [&str; 3] = ["chromium-headless-shell", "chromium", "google-chrome"];
/// A browser that does not answer for so long fails the test.
const LIMIT: Duration = Duration::from_secs(60);

/// The browser, with one page.
pub struct Browser {
    input: ChildStdin,
    messages: Receiver<Value>,
    next: u64,
    session: Value,
    /// Everything that was not an answer, as requests and messages of the page's console.
    pub events: Vec<Value>,
    _child: Background,
    _profile: tempfile::TempDir,
}

/// The browser's program, if there is one.
pub fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let files = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    files.into_iter().find(|file| file.is_file())
}

impl Browser {
    /// Starts it with an empty page.
    pub fn start(program: &Path) -> Self {
        let profile = tempfile::tempdir().expect("a folder");
        // It reads orders from descriptor 3 and answers on 4.
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>&1", "sh"]).arg(program);
        command.args(["--headless", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu"]);
        command.args(["--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars"]);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let (sender, messages) = channel();
        thread::spawn(move || {
            for message in BufReader::new(output).split(0) {
                let Ok(message) = message else { return };
                let message = serde_json::from_slice(&message).expect("JSON");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let child = Background(child);
        let (session, events) = (Value::Null, Vec::new());
        let mut browser =
            Self { input, messages, next: 1, session, events, _child: child, _profile: profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        browser.session = browser.call("Target.attachToTarget", attach)["sessionId"].clone();
        for domain in ["Page", "Runtime", "Network", "Log", "Performance"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Gives an order and waits for its answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        let id = self.next;
        self.next += 1;
        let mut order = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_null() {
            order["sessionId"] = self.session.clone();
        }
        let mut bytes = serde_json::to_vec(&order).expect("JSON");
        bytes.push(0);
        self.input.write_all(&bytes).expect("the browser reads");
        loop {
            let message = self.messages.recv_timeout(LIMIT).expect("the browser answers");
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    /// Opens an address.
    pub fn open(&mut self, url: &str) {
        // An address that differs from the one before in its fragment alone would not be loaded anew.
        self.call("Page.navigate", json!({"url": "about:blank"}));
        self.call("Page.navigate", json!({"url": url}));
    }

    /// The value of an expression in the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", parameters);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Whether an expression holds in the page; one that fails, as while the page is loaded, does not.
    pub fn holds(&mut self, expression: &str) -> bool {
        let expression =
            format!("(() => {{ try {{ return Boolean({expression}) }} catch {{ return false }} }})()");
        self.eval(&expression) == true
    }

    /// Presses and lets go of a key, as `ArrowRight`.
    pub fn press(&mut self, key: &str) {
        for kind in ["rawKeyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key, "code": key}));
        }
    }

    /// Width and height of the window, and the colours that the reader prefers.
    pub fn look_like(&mut self, width: u32, height: u32, scheme: &str) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let feature = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": feature}));
    }

    /// The whole page as a picture, in the folder that TASUKI_TEST_SCREENSHOTS names; without it nothing is
    /// written.
    pub fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("TASUKI_TEST_SCREENSHOTS") else { return };
        let taken = self.call("Page.captureScreenshot", json!({"captureBeyondViewport": true}));
        let mut decode = Command::new("base64");
        let file = std::fs::File::create(Path::new(&folder).join(name)).expect("a file");
        let mut child = decode.arg("-d").stdin(Stdio::piped()).stdout(file).spawn().expect("it starts");
        let text = taken["data"].as_str().expect("a picture");
        child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("writes");
        assert!(child.wait().expect("ends").success());
    }
}
