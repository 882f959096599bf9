import Testing

@Suite struct VarlinkTests {}
