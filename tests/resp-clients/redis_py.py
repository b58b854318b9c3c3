"""redis-py against a node: redis_py.py PORT TOKEN CA, where the token, and the file of who issued the node's certificate, may be empty."""

import sys

import redis

port, token, ca = int(sys.argv[1]), sys.argv[2] or None, sys.argv[3] or None
where = {"port": port, **({"ssl": True, "ssl_ca_certs": ca} if ca else {})}

for protocol in (2, 3):
    client = redis.Redis(**where, password=token, protocol=protocol, client_name="gw", decode_responses=True)
    assert client.ping() is True
    assert client.client_getname() == "gw"
    key = f"py{protocol}"
    assert client.execute_command("CL.THROTTLE", key, 0, 1, 60) == [0, 1, 0, -1, 60]
    assert client.execute_command("CL.THROTTLE", key, 0, 1, 60)[0] == 1
    with client.pipeline(transaction=False) as pipe:
        for n in range(100):
            pipe.execute_command("TR.CHECK", f"{key}-{n % 10}", "fixed_window", 1_000, "CAL.MONTH")
        assert [reply[0] for reply in pipe.execute()] == [1] * 100
    try:
        client.execute_command("TR.CHECK", key, "gcra", 0, 1)
        raise SystemExit("a limit of 0 was taken")
    except redis.ResponseError as error:
        assert "TR.CHECK: limit: '0'" in str(error), error
    assert client.info("server")["server_name"] == "tallyring"
    client.close()

if token:
    for _ in range(5):  # more often than one connection may be wrong
        try:
            redis.Redis(**where, password="wrong").ping()
            raise SystemExit("a wrong token was taken")
        except redis.AuthenticationError:
            pass
    assert redis.Redis(**where, password=token).ping() is True

print(f"redis-py {redis.__version__}: fine{', with a token' if token else ''}{', over TLS' if ca else ''}")
