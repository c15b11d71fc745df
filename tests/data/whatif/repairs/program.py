import torch as t,sys,json
n,f=sys.argv[1],int(sys.argv[2]);c=t.cuda;D="cuda"
c.memory._record_memory_history(max_entries=400000,stacks="python")
m=t.nn.Sequential(*[l for _ in range(4) for l in (t.nn.Linear(1024,1024),t.nn.GELU())]).to(D)
o=t.optim.AdamW(m.parameters())
K=[];S=c.Stream();M=c.current_stream()
H=t.randn(8192,8192,device=D)
P=t.randn(8192,1024).pin_memory()
def end(l):
    l.backward();o.step();o.zero_grad()
def loss(i):
    l=m(t.randn(2048,1024,device=D)).pow(2).mean()
    K.append(l if f else float(l))
    end(l)
def feat(i):
    x=m(t.randn(1024+64*(i%5),1024,device=D))
    k=x.detach().clone()
    if f: K.append(k)
    del k
    end(x.sum())
def copy(i):
    s=S if f else M
    with c.stream(s):
        x=P.to(D,non_blocking=True)
        x=x*2
    M.wait_stream(s)
    end(m(x).sum())
    s.wait_stream(M)
def rec(i):
    for _ in range(4):
        b=t.ones(32<<20,device=D)
        S.wait_stream(M)
        with c.stream(S):
            t.mm(H,H)
            b.mul_(2)
        if f: b.record_stream(S)
        else: S.synchronize()
        del b
    end(m(t.randn(1024,1024,device=D)).sum())
if n=="held":
  for i in range(24):
    x=t.randn(4096,1024,device=D)
    y=m(x)
    l=y.pow(2).mean()
    end(l)
    if not f: del x,y,l
elif n=="eval":
  for i in range(24):
   with t.no_grad():
    x=t.randn(8192+512*(i%3),1024,device=D)
    y=m(x)
    z=y.softmax(-1)
    if not f: del x,y,z
else:
  for i in range(24): globals()[n](i)
c.synchronize()
print(n,f,c.memory_stats()["reserved_bytes.all.peak"],flush=True)
if f: c.memory._dump_snapshot(f"/tmp/{n}.pickle")
