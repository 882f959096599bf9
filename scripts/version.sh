#!/bin/sh
# The version of this package: that of the sources, Sources/SyncClient/Interface/SyncdVersion.swift.
cd "$(dirname "$0")/.." || exit 1
sed -n 's/.*static let current = "\([^"]*\)".*/\1/p' Sources/SyncClient/Interface/SyncdVersion.swift
