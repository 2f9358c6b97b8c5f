"""A headless Chromium by its debugging pipe: what is sent and what comes are JSON messages, a zero byte after each."""
import json, os, select, shutil, subprocess, tempfile, time


def find_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return None


class Browser:
    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="smelt-chromium-")
        # The browser reads from 3 and writes to 4.
        read_there, self.out = os.pipe()
        self.inn, write_there = os.pipe()

        def place():
            first, second = os.dup(read_there), os.dup(write_there)
            os.dup2(first, 3)
            os.dup2(second, 4)

        arguments = [program, "--headless", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run",
                     "--disable-extensions", "--disable-background-networking", "--disable-component-update",
                     "--disable-sync", "--disable-quic", "--hide-scrollbars", "--user-data-dir=" + self.folder]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        self.process = subprocess.Popen(arguments, close_fds=False, preexec_fn=place, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env=dict(os.environ, HOME=self.folder))
        os.close(read_there)
        os.close(write_there)
        self.number, self.buffer, self.events = 0, b"", []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def message(self):
        while b"\0" not in self.buffer:
            if not select.select([self.inn], [], [], 120)[0]:
                raise RuntimeError("the browser says nothing any more")
            part = os.read(self.inn, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self.buffer += part
        one, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, **parameters):
        self.number += 1
        number, what = self.number, {"id": self.number, "method": method, "params": parameters}
        if getattr(self, "session", None):
            what["sessionId"] = self.session
        os.write(self.out, json.dumps(what).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def open(self, url):
        self.events = []
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            answer = self.message()
            if "method" in answer:
                self.events.append(answer)

    def ask(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:600])
        return result["result"].get("value")

    def screen(self, width, height, scheme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media="screen",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def complaints(self):
        """What the console would show."""
        found = []
        for event in self.events:
            what = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(what["exceptionDetails"].get("text", "") + " " +
                             what["exceptionDetails"].get("exception", {}).get("description", ""))
            if event["method"] == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
                found.append(str([one.get("value") for one in what["args"]]))
            if event["method"] == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
                found.append(what["entry"]["text"])
        return found

    def requests(self):
        return [event["params"]["request"]["url"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]

    def close(self):
        os.close(self.out)
        os.close(self.inn)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for _ in range(5):  # its helpers may still write
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.exists(self.folder):
                return
            time.sleep(0.2)
