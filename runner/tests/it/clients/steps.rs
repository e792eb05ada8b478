//! The clients, each with the commands that use it. A command fails if the client did not reach its server.
//!
//! No command names a proxy. The profile's variables name the test's registries and its certificate authority only.

/// The variables of the profile, with the paths inside the sandbox.
pub(super) const VARIABLES: [(&str, &str); 14] = [
    ("CARGO_HTTP_CAINFO", "/opt/client/ca.pem"),
    ("CURL_CA_BUNDLE", "/opt/client/ca.pem"),
    ("GIT_SSL_CAINFO", "/opt/client/ca.pem"),
    ("NODE_EXTRA_CA_CERTS", "/opt/client/ca.pem"),
    ("PIP_CERT", "/opt/client/ca.pem"),
    ("REQUESTS_CA_BUNDLE", "/opt/client/ca.pem"),
    ("SSL_CERT_FILE", "/opt/client/ca.pem"),
    (
        "JAVA_TOOL_OPTIONS",
        "-Djavax.net.ssl.trustStore=/opt/client/ca.p12 -Djavax.net.ssl.trustStorePassword=changeit",
    ),
    ("PIP_INDEX_URL", "https://pypi.test/simple"),
    ("UV_DEFAULT_INDEX", "https://pypi.test/simple"),
    ("npm_config_cafile", "/opt/client/ca.pem"),
    ("npm_config_registry", "https://npm.test/"),
    ("GOPROXY", "https://go.test"),
    ("GOSUMDB", "off"),
];

pub(super) const CLIENTS: [(&str, &str); 16] = [
    ("curl", "for scheme in http https; do [ \"$(curl -sS $scheme://web.test/page)\" = 'a page' ]; done"),
    (
        "wget",
        "echo \"ca_certificate = $SSL_CERT_FILE\" > ~/.wgetrc
         for scheme in http https; do [ \"$(wget -qO- $scheme://web.test/page)\" = 'a page' ]; done",
    ),
    (
        "git over HTTPS",
        "git clone -q https://git.test/thing.git https
         cd https
         echo more >> README
         git -c user.name=a -c user.email=a@example.test commit -qam 'Change the file'
         git push -q origin main
         [ \"$(git ls-remote origin main | cut -f1)\" = \"$(git rev-parse HEAD)\" ]",
    ),
    (
        "git over ssh, and ssh",
        "mkdir -m 700 ~/.ssh
         cp /opt/client/{known_hosts,id_ed25519} ~/.ssh
         chmod 600 ~/.ssh/id_ed25519
         git clone -q git@git.test:thing.git ssh
         test -f ssh/README
         ssh git@git.test test -d thing.git",
    ),
    ("pip", "/usr/bin/python3 -m pip install -q --target pip thing
         test -f pip/thing.py"),
    ("uv", "uv pip install -q --python /usr/bin/python3 --target uv thing
         test -f uv/thing.py"),
    ("npm", "mkdir npm
         cd npm
         npm install --no-audit thing
         test -f node_modules/thing/package.json"),
    (
        "cargo",
        "mkdir -p cargo/src .cargo
         : > cargo/src/lib.rs
         cd cargo
         printf '[package]\nname = \"a\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[dependencies]\nthing = \"1\"\n' > Cargo.toml
         printf '[source.crates-io]\nreplace-with = \"test\"\n[source.test]\nregistry = \"sparse+https://crates.test/\"\n' \
             > ../.cargo/config.toml
         cargo fetch -q
         grep -q 'name = \"thing\"' Cargo.lock",
    ),
    (
        "apt",
        "mkdir -p apt/var/lib/apt/lists/partial apt/var/cache/apt/archives/partial apt/etc/apt
         : > apt/status
         printf 'Dir \"/workspace/apt\";\nDir::State::status \"/workspace/apt/status\";\n' > apt.conf
         echo 'deb [trusted=yes allow-insecure=yes] http://deb.test/ ./' > apt/etc/apt/sources.list
         export APT_CONFIG=/workspace/apt.conf
         apt-get -q update
         apt-get -q download thing
         test -f thing_1.0.0_all.deb",
    ),
    (
        "go",
        "mkdir -p go/root/{src,pkg} go/module
         export GOROOT=$PWD/go/root
         cd go/module
         printf 'module a\n\ngo 1.21\n\nrequire example.com/thing v1.0.0\n' > go.mod
         /opt/tools/go mod download
         test -d ~/go/pkg/mod/example.com/thing@v1.0.0",
    ),
    (
        "mvn",
        "mkdir mvn
         cd mvn
         echo '<settings><mirrors><mirror><id>test</id><mirrorOf>*</mirrorOf><url>https://maven.test</url></mirror>\
               </mirrors></settings>' > settings.xml
         echo '<project><modelVersion>4.0.0</modelVersion><parent><groupId>test</groupId><artifactId>thing</artifactId>\
               <version>1.0.0</version></parent><artifactId>a</artifactId><packaging>pom</packaging></project>' > pom.xml
         mvn -q -B -s settings.xml validate
         test -f ~/.m2/repository/test/thing/1.0.0/thing-1.0.0.pom",
    ),
    (
        "Python's urllib",
        "/usr/bin/python3 -c 'import urllib.request as request
for scheme in [\"http\", \"https\"]:
    assert request.urlopen(scheme + \"://web.test/page\").read() == b\"a page\\n\"'",
    ),
    (
        "Python's requests",
        "/usr/bin/python3 -c 'from pip._vendor import requests
for scheme in [\"http\", \"https\"]:
    assert requests.get(scheme + \"://web.test/page\").text == \"a page\\n\"'",
    ),
    (
        "fetch of Node 24",
        "node24 -e 'const get = async (scheme) => (await fetch(scheme + \"://web.test/page\")).text();
             const check = (text) => { if (text !== \"a page\\n\") throw new Error(text); };
             get(\"http\").then(check).then(() => get(\"https\")).then(check)'",
    ),
    (
        "HttpClient and URLConnection of Java",
        "cat > Get.java <<'JAVA'
import java.net.*;
import java.net.http.*;

public class Get {
    public static void main(String[] urls) throws Exception {
        for (String url : urls) {
            try (var in = new URL(url).openConnection().getInputStream()) {
                check(new String(in.readAllBytes()));
            }
            var request = HttpRequest.newBuilder(URI.create(url)).build();
            check(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
        }
    }

    static void check(String text) {
        if (!text.equals(\"a page\\n\")) throw new IllegalStateException(text);
    }
}
JAVA
         java Get.java http://web.test/page https://web.test/page",
    ),
    (
        "psql through a tunnel",
        "/usr/bin/python3 -c 'import socket, subprocess
connection, _ = socket.create_server((\"127.0.0.1\", 5432)).accept()
tunnel = [\"/run/airlock/init\", \"connect\", \"pg.test\", \"5432\"]
subprocess.run(tunnel, stdin=connection, stdout=connection)' &
         until psql -h 127.0.0.1 -U agent -d postgres -Atc 'select 6 * 7' > answer; do sleep 0.05; done
         [ \"$(cat answer)\" = 42 ]",
    ),
];
