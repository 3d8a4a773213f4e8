import { lazy, Suspense, useEffect, useState } from 'react';
import { Redirect, Route, Switch, useLocation } from 'wouter';
import { comeBack, isComingBack } from '../api/oidc';
import { session } from '../api/session';
import { useStore } from '../api/store';
import { Empty } from '../ui/Empty';
import { Skeleton } from '../ui/List';
import { Toasts } from '../ui/toasts';
import { ConnectionBar } from './ConnectionBar';
import { LeaveDialog } from './LeaveDialog';
import { Mishap } from './Mishap';
import { Palette } from './Palette';
import { Rail } from './Rail';
import { SignIn, SignInAgain } from './SignIn';

const Workflows = lazy(() => import('../pages/Workflows'));
const Executions = lazy(() => import('../pages/Executions'));
const Execution = lazy(() => import('../pages/Execution'));
const Designer = lazy(() => import('../designer/Designer'));
const Schedules = lazy(() => import('../pages/Schedules'));
const Triggers = lazy(() => import('../pages/Triggers'));
const Waits = lazy(() => import('../pages/Waits'));
const Approvals = lazy(() => import('../pages/Approvals'));
const DeadLetters = lazy(() => import('../pages/DeadLetters'));
const Commands = lazy(() => import('../pages/Commands'));
const Outbox = lazy(() => import('../pages/Outbox'));
const Wallboard = lazy(() => import('../pages/Wallboard'));
const Items = lazy(() => import('../pages/Items'));
const Item = lazy(() => import('../pages/Item'));
const Alerts = lazy(() => import('../pages/Alerts'));
const ExternalTasks = lazy(() => import('../pages/ExternalTasks'));
const Templates = lazy(() => import('../pages/Templates'));
const Settings = lazy(() => import('../pages/Settings'));
const Instances = lazy(() => import('../pages/Instances'));

export function App() {
  const { refused, token } = useStore(session);
  const [error, setError] = useState<unknown>(null);
  const [back, setBack] = useState(!isComingBack());
  useEffect(() => {
    if (isComingBack())
      comeBack()
        .catch(setError)
        .finally(() => setBack(true));
  }, []);
  if (!back) return <main className="sign-in" aria-busy="true" />;
  if (error || (refused && token === null)) return <SignIn error={error} />;
  return (
    <>
      <Shell />
      {refused && <SignInAgain />}
    </>
  );
}

function Shell() {
  const [here] = useLocation();
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <Rail />
      <main id="main" tabIndex={-1}>
        <ConnectionBar />
        <Mishap key={here}>
          <Suspense fallback={<Skeleton />}>
            <Switch>
              <Route path="/">{<Redirect to="/workflows" />}</Route>
              <Route path="/workflows" component={Workflows} />
              <Route path="/workflows/new">{<Designer id={null} />}</Route>
              <Route path="/workflows/:id">{({ id }) => <Designer key={id} id={id} />}</Route>
              <Route path="/executions" component={Executions} />
              <Route path="/executions/:id">{({ id }) => <Execution key={id} id={id} />}</Route>
              <Route path="/schedules" component={Schedules} />
              <Route path="/triggers" component={Triggers} />
              <Route path="/waits" component={Waits} />
              <Route path="/approvals" component={Approvals} />
              <Route path="/dead-letters" component={DeadLetters} />
              <Route path="/commands" component={Commands} />
              <Route path="/outbox" component={Outbox} />
              <Route path="/wallboard" component={Wallboard} />
              <Route path="/items" component={Items} />
              <Route path="/items/:key">{({ key }) => <Item key={key} name={key} />}</Route>
              <Route path="/alerts" component={Alerts} />
              <Route path="/external-tasks" component={ExternalTasks} />
              <Route path="/templates" component={Templates} />
              <Route path="/settings" component={Settings} />
              <Route path="/instances" component={Instances} />
              <Route>
                <Empty title="There is no such page">
                  <p>The rail on the left has all there are.</p>
                </Empty>
              </Route>
            </Switch>
          </Suspense>
        </Mishap>
      </main>
      <Palette />
      <LeaveDialog />
      <Toasts />
    </div>
  );
}
