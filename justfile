# One vocabulary: every recipe is a step of .ci/run, which needs no just.

# List the recipes.
default:
    @just --list

# Everything that must pass before a change lands; it changes no file.
gate:
    .ci/run

# Formatting.
fmt-check:
    .ci/run fmt-check

# Clippy; a warning is an error.
lint:
    .ci/run lint

# The documentation builds; a broken link is an error.
docs:
    .ci/run docs

# All tests but the simulation.
test:
    .ci/run test

# The client in another language, against the golden files and a node.
python:
    .ci/run python

# Stock Redis clients against a node.
clients:
    .ci/run clients

# The HTTP door against its own OpenAPI description.
openapi:
    .ci/run openapi

# A cluster on one thread, under faults, for a few seeds.
sim:
    .ci/run sim

# The load generator against a node, for seconds: does it run, is it sane.
bench-smoke:
    .ci/run bench-smoke

# Instructions an operation takes, beside the committed ones: 5 % more or less is an error.
instructions:
    .ci/run instructions

# Licences, sources and duplicates of what is linked.
deny:
    .ci/run deny

# Hostile bytes and any operations, for a number of seconds each; needs cargo-fuzz and a nightly toolchain.
fuzz seconds="60":
    .ci/run fuzz {{seconds}}
