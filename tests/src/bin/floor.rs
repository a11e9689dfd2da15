//! The least that gives a pod its node ports: the creator's three requests over one TLS connection, written by hand,
//! without a template, a retry or a judgement. `make bench` measures the creator beside it.

use std::{
    collections::HashMap,
    env,
    error::Error,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::ExitCode,
    sync::Arc,
};

use cluster_tests::proxy::client_config;
use rustls::{ClientConnection, StreamOwned};
use serde_json::{Value, json};

/// The ConfigMap's name, and the value of the Service's label `creator`.
const CREATOR: &str = "ipf-dynamic-nodeport-service-creator";

type Failure = Box<dyn Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("floor: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let arguments = Arguments::read()?;
    let [namespace, pod, uid] = ["--namespace", "--pod", "--uid"].map(|name| arguments.get(name));
    let (namespace, pod, uid) = (namespace?, pod?, uid?);
    let mut api = Api::connect(&arguments)?;

    api.send("GET", &format!("configmaps/{CREATOR}"), "", "")?;
    api.receive()?;
    let label = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": pod, "uid": uid, "labels": {"ipfPodName": pod}},
    });
    // Both at once, the second does not wait for the first one's answer.
    api.send("PATCH", &format!("pods/{pod}?fieldManager=floor"), "application/apply-patch+yaml", &label.to_string())?;
    api.send("POST", "services?fieldManager=floor", "application/json", &service(namespace, pod, uid).to_string())?;
    api.receive()?;
    let created: Value = serde_json::from_str(&api.receive()?)?;

    let (artery, management) = (node_port(&created, "akka-artery")?, node_port(&created, "akka-management")?);
    fs::write(arguments.get("--output")?, file(artery, management, arguments.get("--node")?))?;
    Ok(())
}

/// The Service that the documented template describes, with what the creator adds to it.
fn service(namespace: &str, pod: &str, uid: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": pod, "namespace": namespace,
            "labels": {"creator": CREATOR, "app": pod},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid}],
        },
        "spec": {
            "externalTrafficPolicy": "Local", "internalTrafficPolicy": "Local", "publishNotReadyAddresses": true,
            "type": "NodePort", "selector": {"ipfPodName": pod},
            "ports": [
                {"name": "akka-management", "port": 8558, "targetPort": 8558, "protocol": "TCP"},
                {"name": "akka-artery", "port": 55001, "targetPort": 55001, "protocol": "TCP"},
            ],
        },
    })
}

fn node_port(service: &Value, name: &str) -> Result<u64, Failure> {
    let ports = service["spec"]["ports"].as_array().ok_or("the Service has no ports")?;
    let port = ports.iter().find(|port| port["name"] == name).and_then(|port| port["nodePort"].as_u64());
    Ok(port.ok_or_else(|| format!("the Service has no node port {name}"))?)
}

fn file(artery: u64, management: u64, node: &str) -> String {
    format!(
        "IPF_NODEPORT = {artery}\n\
         IPF_MANAGEMENTPORT = {management}\n\
         IPF_NODENAME = {node}\n\
         akka.remote.artery.canonical.port = ${{IPF_NODEPORT}}\n\
         akka.remote.artery.canonical.hostname = ${{IPF_NODENAME}}\n\
         akka.management.http.hostname = ${{IPF_NODENAME}}\n\
         akka.management.http.port = ${{IPF_MANAGEMENTPORT}}\n"
    )
}

/// `--name value` pairs.
struct Arguments(HashMap<String, String>);

impl Arguments {
    fn read() -> Result<Self, Failure> {
        let mut given = env::args().skip(1);
        let mut pairs = HashMap::new();
        while let Some(name) = given.next() {
            let value = given.next().ok_or_else(|| format!("{name} needs a value"))?;
            pairs.insert(name, value);
        }
        Ok(Self(pairs))
    }

    fn get(&self, name: &str) -> Result<&str, Failure> {
        Ok(self.0.get(name).ok_or_else(|| format!("{name} is missing"))?)
    }
}

/// One HTTP/1.1 connection to the apiserver.
struct Api {
    stream: BufReader<StreamOwned<ClientConnection, TcpStream>>,
    /// The path of everything in the namespace.
    base: String,
    /// The headers that every request has.
    headers: String,
}

impl Api {
    fn connect(arguments: &Arguments) -> Result<Self, Failure> {
        let server: SocketAddr = arguments.get("--server")?.parse()?;
        let token = fs::read_to_string(arguments.get("--token-file")?)?;
        let tls = client_config(&fs::read_to_string(arguments.get("--ca")?)?)?;
        let tcp = TcpStream::connect(server)?;
        tcp.set_nodelay(true)?;
        let connection = ClientConnection::new(Arc::new(tls), server.ip().into())?;
        Ok(Self {
            stream: BufReader::new(StreamOwned::new(connection, tcp)),
            base: format!("/api/v1/namespaces/{}", arguments.get("--namespace")?),
            headers: format!(
                "Host: {server}\r\nUser-Agent: floor\r\nAccept: application/json\r\nAuthorization: Bearer {}\r\n",
                token.trim()
            ),
        })
    }

    fn send(&mut self, method: &str, resource: &str, content_type: &str, body: &str) -> Result<(), Failure> {
        let Self { base, headers, .. } = self;
        let request = format!(
            "{method} {base}/{resource} HTTP/1.1\r\n{headers}Content-Type: {content_type}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Ok(self.stream.get_mut().write_all(request.as_bytes())?)
    }

    /// The next answer's body; anything but a 2xx is a failure.
    fn receive(&mut self) -> Result<String, Failure> {
        let status = self.line()?;
        let (mut length, mut chunked) = (0, false);
        loop {
            let header = self.line()?.to_ascii_lowercase();
            match header.split_once(": ") {
                Some(("content-length", value)) => length = value.parse()?,
                Some(("transfer-encoding", value)) => chunked = value == "chunked",
                Some(_) => {}
                None => break,
            }
        }
        let body = String::from_utf8(if chunked { self.chunks()? } else { self.bytes(length)? })?;
        if status.starts_with("HTTP/1.1 2") { Ok(body) } else { Err(format!("{status}: {}", body.trim()).into()) }
    }

    fn chunks(&mut self) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        loop {
            let length = usize::from_str_radix(&self.line()?, 16)?;
            body.extend(self.bytes(length)?);
            self.line()?;
            if length == 0 {
                return Ok(body);
            }
        }
    }

    fn bytes(&mut self, length: usize) -> Result<Vec<u8>, Failure> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err("the apiserver closed the connection".into());
        }
        Ok(line.trim_end().to_owned())
    }
}
