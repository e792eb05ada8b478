"""Writes what the servers of `servers.py` serve: packages in the forms of their registries, a repository, certificates.

Every package is named `thing`, has version 1.0.0, and contains nothing.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import subprocess
import tarfile
import zipfile

NAMES = ["crates", "deb", "git", "go", "maven", "npm", "pg", "pypi", "web"]


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)


def run(*words, **more):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **more)


def archive(files):
    """Returns a tar.gz of these files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for name, text in files.items():
            target.writestr(name, text)
    return buffer.getvalue()


def pypi(site):
    name = "thing-1.0.0-py3-none-any.whl"
    meta = "thing-1.0.0.dist-info"
    wheel = zipped({
        "thing.py": "",
        f"{meta}/METADATA": "Metadata-Version: 2.1\nName: thing\nVersion: 1.0.0\n",
        f"{meta}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{meta}/RECORD": f"thing.py,,\n{meta}/METADATA,,\n{meta}/WHEEL,,\n{meta}/RECORD,,\n",
    })
    digest = hashlib.sha256(wheel).hexdigest()
    write(site / "files" / name, wheel)
    write(site / "simple/thing/index.html",
          f'<!DOCTYPE html><html><body><a href="/files/{name}#sha256={digest}">{name}</a></body></html>')


def npm(site):
    package = {"name": "thing", "version": "1.0.0"}
    tarball = archive({"package/package.json": json.dumps(package)})
    write(site / "files/thing-1.0.0.tgz", tarball)
    dist = {"tarball": "https://npm.test/files/thing-1.0.0.tgz", "shasum": hashlib.sha1(tarball).hexdigest()}
    versions = {"1.0.0": package | {"dist": dist}}
    write(site / "thing", json.dumps({"name": "thing", "dist-tags": {"latest": "1.0.0"}, "versions": versions}))


def crates(site):
    manifest = '[package]\nname = "thing"\nversion = "1.0.0"\nedition = "2021"\n'
    crate = archive({"thing-1.0.0/Cargo.toml": manifest, "thing-1.0.0/src/lib.rs": ""})
    row = {"name": "thing", "vers": "1.0.0", "deps": [], "cksum": hashlib.sha256(crate).hexdigest(),
           "features": {}, "yanked": False}
    write(site / "config.json", json.dumps({"dl": "https://crates.test/dl/{crate}/{version}"}))
    write(site / "th/in/thing", json.dumps(row) + "\n")
    write(site / "dl/thing/1.0.0", crate)


def go(site):
    module, version = "example.com/thing", "v1.0.0"
    text = f"module {module}\n"
    at = site / module / "@v"
    write(at / "list", f"{version}\n")
    write(at / f"{version}.info", json.dumps({"Version": version, "Time": "2020-01-01T00:00:00Z"}))
    write(at / f"{version}.mod", text)
    write(at / f"{version}.zip", zipped({f"{module}@{version}/go.mod": text}))


def maven(site):
    pom = ('<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>test</groupId>'
           "<artifactId>thing</artifactId><version>1.0.0</version><packaging>pom</packaging></project>")
    at = site / "test/thing/1.0.0/thing-1.0.0.pom"
    write(at, pom)
    write(at.with_suffix(".pom.sha1"), hashlib.sha1(pom.encode()).hexdigest())


def debian(site, work):
    control = ("Package: thing\nVersion: 1.0.0\nArchitecture: all\nMaintainer: Test <test@example.test>\n"
               "Description: nothing\n")
    write(work / "deb/DEBIAN/control", control)
    file = site / "thing_1.0.0_all.deb"
    site.mkdir(parents=True)
    run("dpkg-deb", "--root-owner-group", "--build", work / "deb", file)
    data = file.read_bytes()
    entry = (f"{control}Filename: ./{file.name}\nSize: {len(data)}\n"
             f"SHA256: {hashlib.sha256(data).hexdigest()}\n\n")
    write(site / "Packages.gz", gzip.compress(entry.encode()))


def repository(home):
    work = home / "work"
    run("git", "init", "--quiet", "--initial-branch=main", work)
    write(work / "README", "thing\n")
    who = ["-c", "user.name=test", "-c", "user.email=test@example.test"]
    run("git", "-C", work, "add", "README")
    run("git", "-C", work, *who, "commit", "--quiet", "--message", "Add the file")
    run("git", "clone", "--quiet", "--bare", work, home / "repos/thing.git")
    run("git", "-C", home / "repos/thing.git", "config", "http.receivepack", "true")


def certificates(home, client):
    ca, key = client / "ca.pem", home / "ca.key"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    run("openssl", "req", "-x509", *curve, "-subj", "/CN=authority", "-keyout", key, "-out", ca, "-days", "30")
    names = ",".join(f"DNS:{name}.test" for name in NAMES)
    run("openssl", "req", *curve, "-subj", "/CN=server", "-keyout", home / "tls.key", "-out", home / "tls.csr",
        "-addext", f"subjectAltName={names}", "-addext", "extendedKeyUsage=serverAuth")
    run("openssl", "x509", "-req", "-in", home / "tls.csr", "-CA", ca, "-CAkey", key, "-CAcreateserial",
        "-CAserial", home / "ca.srl", "-copy_extensions", "copyall", "-out", home / "tls.pem", "-days", "30")
    run("keytool", "-importcert", "-noprompt", "-keystore", client / "ca.p12", "-storetype", "PKCS12",
        "-storepass", "changeit", "-file", ca)


def ssh_keys(home, client):
    for key in [home / "host_key", client / "id_ed25519"]:
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", key)
    write(home / "authorized_keys", (client / "id_ed25519.pub").read_bytes())
    write(client / "known_hosts", "git.test " + (home / "host_key.pub").read_text())
    write(home / "sshd_config",
          f"HostKey {home}/host_key\nAuthorizedKeysFile {home}/authorized_keys\nStrictModes no\nUsePAM no\n"
          "PasswordAuthentication no\nPidFile none\n")


def prepare(home, owner):
    """Writes everything below `home`, and gives it to `owner`. Clients get only `client`."""
    client, sites = home / "client", home / "sites"
    client.mkdir()
    pypi(sites / "pypi.test")
    npm(sites / "npm.test")
    crates(sites / "crates.test")
    go(sites / "go.test")
    maven(sites / "maven.test")
    debian(sites / "deb.test", home)
    write(sites / "web.test/page", "a page\n")
    repository(home)
    certificates(home, client)
    ssh_keys(home, client)
    for path in [home, *home.rglob("*")]:
        os.chown(path, owner, owner, follow_symlinks=False)
    (client / "id_ed25519").chmod(0o644)
