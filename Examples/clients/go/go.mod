module syncd.example/client

go 1.19
